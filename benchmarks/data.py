"""Create the data of one shop: customers, products, orders and fulfillments, as the product would store them.

``python -m benchmarks.data --customers 10000`` fills the migrated database of ``DATABASE_URL`` and prints a JSON object
with the shop and an access token. Row ``n`` is the same on every machine and database.
"""

import argparse
import json
import os
import time
from typing import Any

import django

from benchmarks.scale import scale

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")

DOMAIN = "bench.example"
PRODUCTS, ORDERS = scale(2_000, least=50), scale(5_000, least=100)
BEGIN = 1_700_000_000
FIRST_NAMES = ("Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald", "Frances", "Ken")
LAST_NAMES = ("Lovelace", "Hopper", "Turing", "Dijkstra", "Liskov", "Knuth", "Allen")
CITIES = ("Lund", "Malmö", "Uppsala", "Visby", "Kiruna")
STREETS = ("Storgatan", "Kungsgatan", "Nygatan")


def fill_customers(shop_id: int | str, first: int, last: int, **differing: str) -> None:
    """Insert customers ``first`` to ``last`` with two addresses each. The first address is the default address.

    ``shop_id`` may be an SQL expression, for rows that alternate between shops. ``differing`` maps customer columns to
    SQL expressions that replace the defaults.
    """
    from apps.customers.domain import search_columns
    from apps.customers.domain.fields import FieldMark
    from apps.customers.domain.search_columns import END_MARK, mark_whole_text, mark_words
    from apps.customers.models import Address, Customer
    from benchmarks import bulk_insert
    from benchmarks.bulk_insert import Rows, cycle_values, number_as_text, quote_literal, time_literal

    first_name, last_name = cycle_values("n", FIRST_NAMES), cycle_values("n", LAST_NAMES)
    low_first, low_last = (
        cycle_values("n", [name.lower() for name in FIRST_NAMES]),
        cycle_values("n", [name.lower() for name in LAST_NAMES]),
    )
    number = number_as_text("n")
    email = f"{low_first} || '.' || {low_last} || '.' || {number} || '@example.com'"
    national = number_as_text("2010000000 + n")
    note = f"'Prefers parcels without plastic; asked for an invoice on visit ' || {number}"
    tag_lists = ("vip, newsletter", "wholesale", "knitter, loyal")
    # Each word is preceded by a mark, see ``apps.customers.domain.search_columns``.
    search = " || ".join(
        [
            f"' ' || {low_first} || '. ' || {low_last} || '. ' || {number} || '@ example. com{END_MARK}'",
            f"' + 1' || {national} || '{END_MARK} ' || {national} || '{END_MARK}'",
            f"' ' || {low_first} || ' ' || {low_last} || '{END_MARK} northwind traders{END_MARK}'",
        ]
    )
    noted = mark_words("Prefers parcels without plastic; asked for an invoice on visit", FieldMark.NOTE)
    own = " || ".join(
        [
            (
                f"'{FieldMark.FIRST_NAME}' || {low_first} || '{END_MARK}{FieldMark.LAST_NAME}' || {low_last}"
                f" || '{END_MARK}'"
            ),
            (
                f"'{FieldMark.EMAIL}' || {low_first} || '.{FieldMark.EMAIL}' || {low_last}"
                f" || '.{FieldMark.EMAIL}' || {number}"
            ),
            f"'@{FieldMark.EMAIL}example.{FieldMark.EMAIL}com{END_MARK}'",
            f"'{noted}{FieldMark.NOTE}' || {number} || '{END_MARK}'",
            cycle_values(
                "n", ["".join(mark_whole_text(tag, FieldMark.TAG) for tag in tags.split(", ")) for tags in tag_lists]
            ),
        ]
    )
    cities = [mark_words(city, FieldMark.CITY) for city in CITIES]
    company = f"'{mark_words('Northwind Traders', FieldMark.COMPANY)}{END_MARK}'"
    places = (
        f"{cycle_values('n + 1', cities)} || '{END_MARK}' || {company} || {cycle_values('n', cities)}"
        f" || '{END_MARK}{FieldMark.ZIP}'"
        f" || {number_as_text('10000 + n % 80000')} || '{END_MARK}{mark_whole_text('SE', FieldMark.COUNTRY)}'"
    )
    created, updated = time_literal(f"{BEGIN} + n"), time_literal(f"{BEGIN} + n + 86400")
    shop = str(shop_id)
    rows = Rows(first, last)
    with bulk_insert.load_without_indexes(Customer, Address):
        drop_full_text_triggers(drop=True)
        rows.insert(
            Customer,
            id="n",
            shop_id=shop,
            created_at=created,
            updated_at=updated,
            first_name=first_name,
            last_name=last_name,
            email=email,
            email_key=email,
            phone=f"'+1' || {national}",
            verified_email="n % 3 > 0",
            state=differing.pop("state", cycle_values("n", ("disabled", "enabled", "invited"))),
            note=note,
            tags=cycle_values("n", tag_lists),
            search_text=search,
            search_own=own,
            search_places=places,
            default_address_id="2 * n - 1",
            email_marketing_state=cycle_values("n", ("subscribed", "not_subscribed", "unsubscribed")),
            email_marketing_updated_at=updated,
            version=f"{BEGIN} + n",
            **differing,
        )
        for offset, company in ((1, quote_literal("Northwind Traders")), (0, "''")):
            rows.insert(
                Address,
                id=f"2 * n - {offset}",
                shop_id=shop,
                customer_id="n",
                created_at=created,
                updated_at=time_literal(f"{BEGIN} + n + {offset}"),
                first_name=first_name,
                last_name=last_name,
                company=company,
                address1=f"{cycle_values(f'n + {offset}', STREETS)} || ' ' || {number_as_text(f'n % 200 + {offset}')}",
                address2=quote_literal("c/o the neighbours"),
                city=cycle_values(f"n + {offset}", CITIES),
                country=quote_literal("Sweden"),
                country_code=quote_literal("SE"),
                zip=number_as_text("10000 + n % 80000"),
                phone=quote_literal("+4646100000"),
            )
    search_columns.create_search_index()


def drop_full_text_triggers(*, drop: bool) -> None:
    """Drop the triggers of SQLite's full-text index. ``create_search_index`` restores the triggers and the index."""
    from django.db import connection

    if drop and connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            for event in ("insert", "update", "delete"):
                cursor.execute(f"DROP TRIGGER IF EXISTS customers_search_{event}")


def get_bench_shop() -> tuple[int, str]:
    """Return the id of the benchmark's shop and a new access token. The first call creates the shop."""
    from django.utils import timezone

    from apps.core.tenancy.access_scopes import SCOPES
    from apps.core.tenancy.models import Shop
    from apps.shops.domain import app_installation, shop_creation, tokens

    now = timezone.now()
    shop = Shop.objects.filter(domain=DOMAIN).first() or shop_creation.create_shop(
        domain=DOMAIN, name="Bench", email="bench@example.com", actor="system", at=now
    )
    app = app_installation.create_app(name="Bench")
    installation = app_installation.install_app(app, shop, scopes=sorted(SCOPES), actor="system", at=now)
    return shop.pk, tokens.issue_token(installation, actor="system", at=now)


def grow_shop(customers: int) -> dict[str, Any]:
    """Add customers to the benchmark's shop until it has this many. The first call also adds products and orders.

    Returns:
        The shop id, an access token, the number of customers, and the duration in seconds.
    """
    from apps.core.events.models import Event
    from apps.core.tenancy.scope import all_shops_scope
    from apps.customers.models import Address, Customer
    from benchmarks import bulk_insert
    from benchmarks.catalog_data import fill_orders, fill_products, fill_work

    began = time.monotonic()
    shop_id, token = get_bench_shop()
    with all_shops_scope():
        present = Customer.objects.order_by("-id").values_list("id", flat=True).first() or 0
    if customers > present:
        fill_customers(shop_id, present + 1, customers)
    if not present:
        fill_products(shop_id, PRODUCTS)
        fill_orders(shop_id, ORDERS, products=PRODUCTS, customers=customers)
        fill_work(shop_id, ORDERS)
        if bulk_insert.is_postgres():
            bulk_insert.set_column_defaults(Customer, Address, Event)
    return {
        "shop_id": shop_id,
        "token": token,
        "customers": customers,
        "seconds": round(time.monotonic() - began, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--customers", type=int, default=scale(10_000, least=100))
    options = parser.parse_args()
    django.setup()
    print(json.dumps(grow_shop(options.customers)))


if __name__ == "__main__":
    main()
