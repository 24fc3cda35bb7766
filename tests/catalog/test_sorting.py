from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from apps.catalog.domain.collections.membership import ORDERS
from apps.catalog.domain.sales_counters import add_units_sold
from apps.catalog.models import Collection, Product, ProductRank
from apps.core.db import sort_tables
from apps.core.db.sort_tables import Rank
from apps.core.rest.reading import pages
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.core.tenancy.shop_owned import ShopOwned
from apps.customers.models import Customer, CustomerProfile, CustomerRank
from tests.support.api_client import ApiClient, Response, parse_links
from tests.support.factories.catalog import make_custom, make_product, make_smart
from tests.support.factories.customers import make_customer

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
# Expected titles by sort order. Ties (price of B and c, sales of A and c) are sorted by id.
EXPECTED = {"alpha-asc": "ABcD", "created": "DBAc", "manual": "cDAB", "price-asc": "ABcD", "best-selling": "BDAc"}
EXPECTED |= {"alpha-desc": "DcBA", "created-desc": "cABD", "price-desc": "DBcA"}


@pytest.fixture
def collection_products(in_shop: Shop) -> list[Product]:
    prices = {"A": ("9.00", "1.00"), "B": ("2.00",), "c": ("2.00",), "D": ("30.00",)}
    products = [make_product(title, prices=values) for title, values in prices.items()]
    for product, days in zip(products, (3, 2, 4, 1), strict=True):
        Product.objects.filter(pk=product.pk).update(created_at=NOON + timedelta(days=days))
    add_units_sold({products[1].pk: 5, products[3].pk: 2, products[0].pk: 4})
    add_units_sold({products[0].pk: -9})
    return products


def get_manual_order(members: list[Product]) -> list[Product]:
    a, b, c, d = members
    return [c, d, a, b]


def follow_pages(api: ApiClient, page: Response) -> Iterator[Response]:
    yield page
    while "next" in parse_links(page):
        page = api.http.get(parse_links(page)["next"])
        assert page.status_code == 200, page.content
        yield page


def get_titles_by_page(api: ApiClient, path: str, limit: int) -> list[str]:
    pages = follow_pages(api, api.get(path, limit=limit))
    return ["".join(row["title"] for row in page.json()["products"]) for page in pages]


@pytest.mark.parametrize("kind", ["custom", "smart"])
@pytest.mark.parametrize("order", sorted(EXPECTED))
def test_products_follow_the_sort_order(
    api: ApiClient, collection_products: list[Product], order: str, kind: str
) -> None:
    if kind == "custom":
        collection = make_custom("All", *get_manual_order(collection_products), sort_order=order)
    else:
        collection = make_smart("All", ("variant_price", "greater_than", "0"), sort_order=order)
        text = "&".join(f"products[]={product.pk}" for product in get_manual_order(collection_products))
        api.put(f"smart_collections/{collection.pk}/order.json?{text}")
    path = f"collections/{collection.pk}/products.json"

    assert get_titles_by_page(api, path, 250) == [EXPECTED[order]]
    assert get_titles_by_page(api, path, 3) == [EXPECTED[order][:3], EXPECTED[order][3:]]
    assert get_titles_by_page(api, path, 1) == list(EXPECTED[order])


def test_every_order_has_its_columns() -> None:
    assert set(ORDERS) == set(Collection.SortOrder.values) == set(EXPECTED)


def test_products_without_a_position_come_last(api: ApiClient, collection_products: list[Product]) -> None:
    collection = make_smart("All", ("variant_price", "greater_than", "0"), sort_order="manual")
    api.put(f"smart_collections/{collection.pk}/order.json?products[]={collection_products[3].pk}")

    assert get_titles_by_page(api, f"collections/{collection.pk}/products.json", 1) == ["D", "A", "B", "c"]


def test_previous_pages_lead_back(api: ApiClient, collection_products: list[Product]) -> None:
    collection = make_custom("All", *collection_products, sort_order="price-desc")
    path = f"collections/{collection.pk}/products.json"
    first = api.get(path, limit=2)
    second = api.http.get(parse_links(first)["next"])

    back = api.http.get(parse_links(second)["previous"])

    assert back.json() == first.json()


def test_a_page_that_follows_keeps_the_order_of_the_first(api: ApiClient, collection_products: list[Product]) -> None:
    collection = make_custom("All", *get_manual_order(collection_products), sort_order="manual")
    path = f"collections/{collection.pk}/products.json"
    first = api.get(path, limit=2)
    api.put(f"custom_collections/{collection.pk}.json", {"custom_collection": {"sort_order": "alpha-desc"}})

    second = api.http.get(parse_links(first)["next"])

    assert [row["title"] for row in second.json()["products"]] == ["A", "B"]


def test_sales_move_nothing_that_the_product_shows(collection_products: list[Product]) -> None:
    product = Product.objects.get(pk=collection_products[0].pk)

    add_units_sold({product.pk: 3})

    after = Product.objects.get(pk=product.pk)
    assert (after.version, after.updated_at) == (product.version, product.updated_at)
    assert after.units_sold == product.units_sold + 3


RANKED: tuple[tuple[type[ShopOwned], type[Rank]], ...] = (
    (Product, ProductRank),
    (Customer, CustomerRank),
    (Customer, CustomerProfile),
)
SORTED_TABLES = ("catalog_product", "catalog_variant", "customers_customer")
FEW = 5


def find_stale_ranks() -> dict[str, object]:
    results: dict[str, object] = {}
    for model, rank in RANKED:
        names = [field.name for field in rank._meta.concrete_fields if field.name != "of"]
        with all_shops_scope():
            rows = set(model.objects.values_list("pk", *names))
        held_row = set(rank._default_manager.values_list("pk", *names))
        if rows != held_row:
            results[rank.__name__] = rows ^ held_row
    return results


def test_ranks_follow_their_rows(api: ApiClient, in_shop: Shop) -> None:
    body = {"title": "Mug", "variants": [{"price": "5.00"}]}
    product = api.post("products.json", {"product": body}).json()["product"]
    customer = api.post("customers.json", {"customer": {"email": "ann@mail.example"}}).json()["customer"]
    assert ProductRank.objects.count() == CustomerRank.objects.count() == 1
    line = {"variant_id": product["variants"][0]["id"], "quantity": 2}

    order = {"customer": {"id": customer["id"]}, "line_items": [line], "financial_status": "paid"}
    assert api.post("orders.json", {"order": order}).status_code == 201
    assert find_stale_ranks() == {}
    assert CustomerRank.objects.get().orders_count == 1
    assert ProductRank.objects.get().units_sold == 2

    more = [make_product(f"Bowl {number}") for number in range(3)]
    Product.objects.bulk_update(more, ["title"])
    Customer.objects.filter(pk=customer["id"]).update(note="Waits")
    consent = {"state": "subscribed"}
    renamed = {"first_name": "Ann", "last_name": "Berg", "email": "ab@mail.example", "email_marketing_consent": consent}
    assert api.put(f"customers/{customer['id']}.json", {"customer": renamed}).status_code == 200
    assert find_stale_ranks() == {}
    profile = CustomerProfile.objects.get()
    assert (profile.last_name, profile.email_key) == ("Berg", "ab@mail.example")

    assert api.delete(f"products/{product['id']}.json").status_code == 200
    Product.objects.filter(pk=more[0].pk).delete()
    assert ProductRank.objects.count() == 2
    assert find_stale_ranks() == {}


def test_lists_sort_and_filter_by_the_sort_tables(api: ApiClient, in_shop: Shop) -> None:
    people = [make_customer() for number in range(3)]
    for index, person in enumerate(people):
        days = {"updated_at": f"2026-03-0{3 - index}T12:00:00Z", "last_order_at": f"2026-01-0{1 + index}T12:00:00Z"}
        Customer.objects.filter(pk=person.pk).update(orders_count=index % 2, total_spent=index, **days)
    cup, bag = make_product("Cup"), make_product("Bag")
    Product.objects.filter(pk=cup.pk).update(updated_at="2026-03-01T12:00:00Z", units_sold=7)
    Product.objects.filter(pk=bag.pk).update(updated_at="2026-02-01T12:00:00Z")
    first, second, third = (person.pk for person in people)

    def get_ids(path: str, **query: object) -> list[int]:
        (rows,) = api.get(path, **query).json().values()
        return [row["id"] for row in rows]

    assert get_ids("products.json", updated_at_min="2026-02-15") == [cup.pk]
    assert get_ids("products.json", updated_at_max="2026-02-15") == [bag.pk]
    assert get_ids("customers.json", updated_at_min="2026-03-02", updated_at_max="2026-03-02T23:00:00Z") == [second]
    counted = {"updated_at_min": "2026-03-02", "updated_at_max": "2026-03-02T23:00:00Z"}
    assert api.get("customers/count.json", **counted).json() == {"count": 1}
    assert api.get("customers/count.json", **counted, created_at_min="2030-01-01").json() == {"count": 0}
    assert get_ids("customers/search.json", query="orders_count:1") == [second]
    assert get_ids("customers/search.json", query="-total_spent:>1", order="total_spent asc") == [first, second]
    assert get_ids("customers/search.json", query="total_spent:>1 OR updated_at:>2026-03-02") == [third, first]
    assert get_ids("customers/search.json", query="last_order_date:<2026-01-03") == [second, first]
    for order, expected in {
        "updated_at asc": [third, second, first],
        "updated_at desc": [first, second, third],
        "orders_count desc": [second, third, first],
        "last_order_date desc": [third, second, first],
    }.items():
        assert get_ids("customers/search.json", query="", order=order) == expected, order
        read_pages = follow_pages(api, api.get("customers/search.json", query="", order=order, limit=1))
        assert [row["id"] for page in read_pages for row in page.json()["customers"]] == expected, order


@pytest.mark.parametrize("walked_ranks", [1, 3, 100_000])
def test_rows_behind_the_end_of_the_walk_are_found_by_their_ranks(
    api: ApiClient, shop: Shop, other_shop: Shop, monkeypatch: pytest.MonkeyPatch, walked_ranks: int
) -> None:
    monkeypatch.setattr(pages, "MAX_WALK", 2)
    monkeypatch.setattr(pages, "MAX_SORT_TABLE_WALK", walked_ranks)
    for current_shop in (shop, other_shop):
        with shop_scope(current_shop):
            rows = [make_product(f"Mug {number}") for number in range(9)]
            Product.objects.update(updated_at="2026-01-01T12:00:00Z")
            Product.objects.filter(pk__in=[row.pk for row in rows[4:]]).update(updated_at="2026-02-01T12:00:00Z")
    with shop_scope(shop):
        expected = list(Product.objects.order_by("pk").values_list("pk", flat=True))[4:]

    read_pages = list(follow_pages(api, api.get("products.json", updated_at_min="2026-01-15", limit=2)))
    before = api.http.get(parse_links(read_pages[-1])["previous"])

    assert [row["id"] for page in read_pages for row in page.json()["products"]] == expected
    assert [row["id"] for row in before.json()["products"]] == expected[2:4]
    assert api.get("products/count.json", updated_at_min="2026-01-15").json() == {"count": 5}
    assert api.get("products.json", updated_at_min="soon").status_code == 400
    assert api.get("products/count.json", updated_at_min="soon").status_code == 400


def test_lost_triggers_and_ranks_come_back_with_the_next_migration(api: ApiClient, in_shop: Shop) -> None:
    product = make_product("Mug")
    with connection.cursor() as cursor:
        on = " ON catalog_product" if connection.vendor == "postgresql" else ""
        for event in ("insert", "update", "delete"):
            cursor.execute(f"DROP TRIGGER catalog_productrank_{event}{on}")
    Product.objects.filter(pk=product.pk).update(units_sold=3)
    new_product = make_product("Bowl")
    assert find_stale_ranks()

    sort_tables.create_sort_triggers(ProductRank, "default")

    assert find_stale_ranks() == {}
    ProductRank.objects.filter(pk=new_product.pk).delete()
    sort_tables.create_sort_triggers(ProductRank, "default")
    assert find_stale_ranks() == {}
    Product.objects.filter(pk=new_product.pk).update(units_sold=4)
    assert find_stale_ranks() == {}


@pytest.mark.postgres
def test_stock_and_orders_touch_no_index_of_products_and_customers(api: ApiClient, shop: Shop) -> None:
    # An update is only heap-only if its page has room. With an index on the changed column, no update would be.
    with connection.cursor() as cursor:
        for table in SORTED_TABLES:
            cursor.execute(f"ALTER TABLE {table} SET (fillfactor = 10)")

    moved = change_stock_and_order(api, shop)

    assert min(updates for updates, _hot in moved.values()) >= FEW
    assert min(hot for _updates, hot in moved.values()) > 0, moved


def change_stock_and_order(api: ApiClient, shop: Shop) -> dict[str, tuple[int, int]]:
    """Adjust the stock of new products, and create orders for new customers. Return the numbers of updates.

    Only a few rows are changed, because the test's transaction keeps old row versions, which fill the page.
    """
    levels, items, customers = api.get("locations.json").json()["locations"], [], []
    for number in range(FEW):
        body = {"title": f"Mug {number}", "variants": [{"price": "5.00", "inventory_management": "shopify"}]}
        (variant,) = api.post("products.json", {"product": body}).json()["product"]["variants"]
        items.append(variant["inventory_item_id"])
        body = {"email": f"p{variant['id']}@mail.example"}
        customers.append(api.post("customers.json", {"customer": body}).json()["customer"]["id"])
    with shop_scope(shop):
        # Set an old time: the new rows were updated within this second, so stock changes would not change the column.
        Product.objects.update(updated_at="2026-01-01T00:00:00Z")
    before = count_heap_only_updates()
    for item, customer in zip(items, customers, strict=True):
        adjusted = {"location_id": levels[0]["id"], "inventory_item_id": item, "available_adjustment": 1}
        assert api.post("inventory_levels/adjust.json", adjusted).status_code == 200
        order = {"customer": {"id": customer}, "line_items": [{"title": "Mug", "price": "10.00", "quantity": 1}]}
        assert api.post("orders.json", {"order": order}).status_code == 201
    return {
        table: (updates - before[table][0], hot - before[table][1])
        for table, (updates, hot) in count_heap_only_updates().items()
    }


def count_heap_only_updates() -> dict[str, tuple[int, int]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, pg_stat_get_xact_tuples_updated(oid), pg_stat_get_xact_tuples_hot_updated(oid)"
            " FROM pg_class WHERE relname = ANY(%s)",
            [list(SORTED_TABLES)],
        )
        return {name: (updates, hot) for name, updates, hot in cursor.fetchall()}
