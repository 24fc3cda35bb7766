"""Create the data: one shop that grows to a million customers and orders, and fifty small shops.

The rows of the small shops alternate and have the highest ids, so a descending scan of the primary key reads these rows
first.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks import bulk_insert
from benchmarks.bulk_insert import Rows, cycle_values, number_as_text, quote_literal, random_uuid, time_literal
from benchmarks.catalog_data import TURN, fill_order_rows, fill_orders, fill_products
from benchmarks.data import BEGIN, DOMAIN, fill_customers, get_bench_shop
from benchmarks.scale import scale

if TYPE_CHECKING:
    from apps.core.tenancy.models import Shop

SMALL_SHOPS = TURN
SMALL = scale(5_000, least=SMALL_SHOPS)  # total number of rows in the small shops
# Higher than all ids of the big shop, and a multiple of the number of small shops, because their rows alternate.
APART = 20_000_000
CAUSED = 5_000_000
VENDORS = ("Pottery", "Weavers", "Woodwork", "Smithy", "Tannery")
STAFF = 7
COLLECTED = 2_500
ARTICLES, WEEKS = 10_000, 200


@dataclass(frozen=True)
class Size:
    """The number of rows of each type in the big shop."""

    customers: int

    @property
    def products(self) -> int:
        """Return a tenth of the number of customers, but at least 100."""
        return max(self.customers // 10, 100)

    @property
    def events(self) -> int:
        """Return twice the number of customers."""
        return self.customers * 2


def create_shops() -> tuple[int, str]:
    """Create the empty big shop and the filled small shops; return the big shop's id and an access token."""
    from django.utils import timezone

    from apps.shops.domain import shop_creation

    now = timezone.now()
    shop_id, token = get_bench_shop()
    ids = []
    for number in range(SMALL_SHOPS):
        names = {"domain": f"small-{number}.{DOMAIN}", "name": f"Small {number}", "email": "a@b.example"}
        ids.append(shop_creation.create_shop(**names, actor="system", at=now).pk)
    turns = " ".join(f"WHEN {index} THEN {pk}" for index, pk in enumerate(ids))
    shop, next_shop = (f"(CASE ({number}) % {SMALL_SHOPS} {turns} END)" for number in ("n", "n + 1"))
    first, last = APART + 1, APART + SMALL
    fill_customers(shop, first, last, **_customer_columns())
    fill_products(shop, last, first=first, **_product_columns())
    fill_order_rows(
        next_shop, last, first=first, products=SMALL, customers=SMALL, apart=APART, lines=1, **_order_columns()
    )
    _fill_events(shop, first, last)
    return shop_id, token


def grow_big_shop(shop_id: int, before: Size | None, after: Size) -> None:
    """Fill the big shop from one size to another."""
    had = before or Size(0)
    products = 0 if before is None else had.products
    fill_customers(shop_id, had.customers + 1, after.customers, **_customer_columns())
    fill_products(shop_id, after.products, first=products + 1, **_product_columns())
    fill_orders(
        shop_id,
        after.customers,
        first=had.customers + 1,
        products=after.products,
        customers=after.customers,
        lines=1,
        **_order_columns(),
    )
    _fill_events(str(shop_id), had.events + 1, after.events)
    _fill_further(shop_id, products, after.products)
    _vacuum()


def _vacuum() -> None:
    """Run VACUUM, as autovacuum does for growing tables. Otherwise index-only scans would also read the tables."""
    from django.db import connection

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")


def get_shop(shop_id: int) -> "Shop":
    from apps.core.tenancy.models import Shop

    return Shop.objects.get(pk=shop_id)


def _customer_columns() -> dict[str, str]:
    return {
        "orders_count": "1 + n % 20",
        "total_spent": "80 + n % 5000",
        "last_order_at": time_literal(f"{BEGIN} + n"),
        "tax_exempt": "n % 1000 = 0",
        "state": "(CASE WHEN n % 500 = 0 THEN 'declined'"
        f" ELSE {cycle_values('n', ('disabled', 'enabled', 'invited'))} END)",
    }


def _product_columns() -> dict[str, str]:
    return {
        "vendor": cycle_values("n", VENDORS),
        "lowest_price": "19.90 + n % 300",
        "units_sold": "n % 977",
        "status": "(CASE WHEN n % 100 = 0 THEN 'draft' WHEN n % 37 = 0 THEN 'archived' ELSE 'active' END)",
        "published_at": f"(CASE WHEN n % 50 = 0 THEN NULL ELSE {time_literal(f'{BEGIN} + n')} END)",
    }


def _order_columns() -> dict[str, str]:
    """Return SQL expressions for orders that are mostly closed, paid and fulfilled. Other statuses are rare."""
    closed, cancelled = "n % 100 > 4", "n % 400 = 1"
    return {
        "status": f"(CASE WHEN {cancelled} THEN 'cancelled' WHEN {closed} THEN 'closed' ELSE 'open' END)",
        "closed_at": f"(CASE WHEN {closed} THEN {time_literal(f'{BEGIN} + n + 7200')} END)",
        "cancelled_at": f"(CASE WHEN {cancelled} THEN {time_literal(f'{BEGIN} + n + 3600')} END)",
        "financial_status": "(CASE WHEN n % 100 = 0 THEN 'pending' WHEN n % 100 = 1 THEN 'authorized'"
        " WHEN n % 1000 = 7 THEN 'partially_paid' WHEN n % 1000 = 8 THEN 'refunded'"
        " WHEN n % 1000 = 9 THEN 'partially_refunded' WHEN n % 10000 = 10 THEN 'voided' ELSE 'paid' END)",
        "fulfillment_status": "(CASE WHEN n % 100 < 3 THEN '' WHEN n % 1000 = 3 THEN 'partial'"
        " WHEN n % 5000 = 4 THEN 'restocked' ELSE 'fulfilled' END)",
        "total_price": "80 + n % 900",
        "test": "n % 20000 = 11",
    }


def _fill_events(shop: str, first: int, last: int) -> None:
    """Insert events with six topics and a realistic number of actors."""
    from apps.core.events.models import Event

    topics = ("orders/create", "orders/updated", "customers/create", "customers/update", "products/update")
    actors = (*(f"staff:{number}" for number in range(1, STAFF + 1)), "system", "app:1", "app:2")
    with bulk_insert.load_without_indexes(Event):
        Rows(first, last).insert(
            Event,
            # Ids below this offset are for events that the product records during the benchmark.
            id=f"n + {CAUSED}",
            key=random_uuid(),
            shop_id=shop,
            topic=f"(CASE WHEN n % 10000 = 0 THEN 'products/delete' ELSE {cycle_values('n', topics)} END)",
            subject_type=cycle_values(
                "n", ("orders.order", "orders.order", "customers.customer", "customers.customer", "catalog.product")
            ),
            subject_id="1 + n / 2",
            subject_label=f"'#' || {number_as_text('1000 + n / 2')}",
            actor=f"(CASE WHEN n % 50000 = 1 THEN 'staff:8' ELSE {cycle_values('n / 3', actors)} END)",
            group=random_uuid(),
            created_at=time_literal(f"{BEGIN} + n / 2"),
            updated_at=time_literal(f"{BEGIN} + n / 2"),
        )


def _fill_further(shop_id: int, before: int, products: int) -> None:
    """Insert collections, metafields and inventory changes for the products, and a blog with articles."""
    from apps.catalog.models import Collect
    from apps.inventory.models import StockMovement
    from apps.metafields.models import Metafield

    shop = str(shop_id)
    custom = _collections(shop_id) if not before else _first("catalog_collection", shop_id)
    own = {"shop_id": shop, "created_at": time_literal(f"{BEGIN} + n"), "updated_at": time_literal(f"{BEGIN} + n + 60")}
    rows = Rows(before + 1, products)
    with bulk_insert.load_without_indexes(Metafield, StockMovement, Collect):
        rows.insert(
            Metafield,
            **own,
            id="n",
            owner_resource=quote_literal("product"),
            owner_id="n",
            namespace=quote_literal("care"),
            key=quote_literal("wash"),
            type=quote_literal("single_line_text_field"),
            value=quote_literal("By hand"),
            version=f"{BEGIN} + n",
        )
        rows.insert(
            StockMovement,
            **own,
            id="n",
            item_id="3 * n",
            location_id=f"(SELECT min(id) FROM inventory_location WHERE shop_id = {shop})",
            delta="40",
            available="40",
            reason=quote_literal("received"),
            actor=quote_literal("staff:1"),
            reference=f"'Delivery ' || {number_as_text('n / 100')}",
            at=time_literal(f"{BEGIN} + n"),
        )
        if before < COLLECTED:
            Rows(before + 1, min(products, COLLECTED)).insert(
                Collect, **own, id="n", collection_id=str(custom), product_id="n", position="n"
            )
    _fill_articles(shop_id, before, min(products, ARTICLES))


def _collections(shop_id: int) -> int:
    """Create a custom collection and a smart collection for each type of rule; return the custom collection's id."""
    from django.utils import timezone

    from apps.catalog.domain.collections import lifecycle
    from apps.catalog.models import Collection
    from apps.core.tenancy.scope import shop_scope

    rules = {
        "Contains": [("title", "contains", "ugs 77")],
        "Tagged": [("tag", "equals", "handmade")],
        "Two rules": [("vendor", "equals", "Smithy"), ("variant_price", "greater_than", "20")],
        "Variants": [("variant_title", "equals", "Medium")],
        "In stock": [("variant_inventory", "greater_than", "10")],
        "Few": [("title", "starts_with", "Mug 99")],
    }
    actor_fields: dict[str, Any] = {"actor": "system", "at": timezone.now()}
    with shop_scope(get_shop(shop_id)):
        custom = lifecycle.create_collection(
            Collection.Kind.CUSTOM, {"title": "Chosen"}, lifecycle.CollectionParts(), **actor_fields
        )
        for title, rules_part in rules.items():
            values = {
                "title": title,
                "rules": [dict(zip(("column", "relation", "condition"), rule, strict=True)) for rule in rules_part],
            }
            lifecycle.create_collection(Collection.Kind.SMART, values, lifecycle.CollectionParts(), **actor_fields)
    return custom.pk


def _fill_articles(shop_id: int, before: int, last: int) -> None:
    from apps.content.models import Article, ArticleTag, Blog
    from apps.core.tenancy.scope import shop_scope

    if before >= last:
        return
    own = {
        "shop_id": str(shop_id),
        "created_at": time_literal(f"{BEGIN} + n"),
        "updated_at": time_literal(f"{BEGIN} + n + 60"),
    }
    blog = f"(SELECT min(id) FROM {Blog._meta.db_table} WHERE shop_id = {shop_id})"
    if not before:
        with shop_scope(get_shop(shop_id)):
            tags = ", ".join(sorted(["news", *(f"week-{number}" for number in range(WEEKS))]))
            Blog.objects.create(shop_id=shop_id, title="News", handle="news", tags=tags)
    with bulk_insert.load_without_indexes(Article, ArticleTag):
        Rows(before + 1, last).insert(
            Article,
            **own,
            id="n",
            blog_id=blog,
            title=f"'News of week ' || {number_as_text('n')}",
            handle=f"'news-' || {number_as_text('n')}",
            author=cycle_values("n", ("Ada", "Grace", "Alan")),
            tags=f"'news, week-' || {number_as_text(f'n % {WEEKS}')}",
            published_at=time_literal(f"{BEGIN} + n"),
            version=f"{BEGIN} + n",
        )
        for number, tag in enumerate((quote_literal("news"), f"'week-' || {number_as_text(f'n % {WEEKS}')}")):
            Rows(before + 1, last).insert(
                ArticleTag, **own, id=f"2 * n - {number}", article_id="n", blog_id=blog, name=tag, key=tag
            )


def _first(table: str, shop_id: int) -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(f'SELECT min(id) FROM "{table}" WHERE shop_id = %s', [shop_id])
        return int(cursor.fetchone()[0])
