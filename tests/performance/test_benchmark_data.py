import json
import os
import re
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.db.models import NOT_PROVIDED, Field

from apps.catalog.models import Product
from apps.core.db.case_folding import casefold_text
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.domain.search_columns import get_address_texts, rebuild_search_columns
from apps.customers.models import SEARCH_COLUMNS, Address, Customer
from apps.fulfillment.domain import consistency_checks
from apps.fulfillment.models import Fulfillment, FulfillmentOrder
from apps.inventory.models import InventoryLevel
from apps.orders.domain.selectors import get_line_items
from apps.orders.domain.statuses import get_order_fulfillment_status
from apps.orders.models import LineItem, Order
from benchmarks.bulk_insert import get_column_default, is_generated
from benchmarks.catalog_data import fill_orders, fill_products, fill_work
from benchmarks.data import fill_customers
from benchmarks.floors import create_customer
from benchmarks.variants import find_differences, find_missing_fields
from tests.support.api_client import ApiClient


def test_generated_goods_are_like_made_ones(transactional_db: None, api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        fill_customers(shop.pk, 1, 10)
        fill_products(shop.pk, 20)
        fill_orders(shop.pk, 30, products=20, customers=10)
        fill_work(shop.pk, 30)

        for product in Product.objects.prefetch_related("variants__inventory_item__levels", "images"):
            product.full_clean()
            assert product.title_key == casefold_text(product.title)
            assert product.vendor_key == casefold_text(product.vendor)
            assert [variant.position for variant in product.variants.all()] == [1, 2, 3]
            for variant in product.variants.all():
                variant.full_clean()
                levels = variant.inventory_item.levels.all()
                assert sum(level.available for level in levels) == variant.inventory_quantity
                assert variant.grams == variant.weight * 1000
        for order in Order.objects.prefetch_related("line_items__variant", "shipping_lines"):
            order.full_clean()
            lines = list(order.line_items.all())
            assert all(line.variant is not None and line.variant.product_id == line.product_id for line in lines)
            assert sum(line.price * line.quantity for line in lines) == order.subtotal_price
            assert sum(line.tax for line in lines) == order.total_tax
            shipping = sum(line.price for line in order.shipping_lines.all())
            assert order.subtotal_price + order.total_tax + shipping == order.total_price
            assert order.fulfillment_status == get_order_fulfillment_status(order, get_line_items(order))
        for row in [*FulfillmentOrder.objects.all(), *Fulfillment.objects.all()]:
            row.full_clean()
        assert (FulfillmentOrder.objects.count(), Fulfillment.objects.count()) == (30, 15)
        assert [*consistency_checks.find_wrong_fulfillable_quantities()] == []
        assert [*consistency_checks.find_wrong_fulfilled_quantities()] == []
        assert (InventoryLevel.objects.count(), LineItem.objects.count()) == (60, 90)

    assert len(api.get("products.json").json()["products"]) == 20
    assert len(api.get("orders.json").json()["orders"]) == 30
    parcels = [parcel for order in api.get("orders.json").json()["orders"] for parcel in order["fulfillments"]]
    assert [len(parcel["line_items"]) for parcel in parcels] == [3] * 15
    assert parcels[0]["tracking_numbers"] == ["100000000030"]
    response = api.post("orders.json", {"order": {"line_items": [{"title": "Mug", "price": "1.00", "quantity": 1}]}})
    assert (response.status_code, response.json()["order"]["name"]) == (201, "#1031")


def test_generated_customers_are_like_made_ones(transactional_db: None, api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        fill_customers(shop.pk, 1, 120)
        rows = list(Customer.objects.order_by("id").prefetch_related("addresses"))

        assert (len(rows), Address.objects.count()) == (120, 240)
        for row in rows:
            output = [getattr(row, name) for name in SEARCH_COLUMNS]
            rebuild_search_columns(row, get_address_texts(row))
            assert [getattr(row, name) for name in SEARCH_COLUMNS] == output
            assert row.default_address in row.addresses.all()
            row.full_clean()

    found = api.get("customers/search.json", query=f"email:{rows[7].email}").json()["customers"]
    assert len(api.get("customers.json", limit="250").json()["customers"]) == 120
    assert [row["id"] for row in found] == [rows[7].pk]
    assert api.post("customers.json", {"customer": {"email": "new@example.com"}}).status_code == 201


# The documented results must not be older than this at the time of the last commit.
MAX_AGE = timedelta(days=60)
Columns = dict[str, set[str]]
INSERT = re.compile(r"INSERT INTO (\w+) \((.*?)\)", re.DOTALL)
NAIVE = """
import django, json
django.setup()
models = django.apps.apps.get_app_config("naive").get_models()
print(json.dumps({model._meta.db_table: [field.column for field in model._meta.concrete_fields] for model in models}))
"""


def run_python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command, env = [sys.executable, *arguments], {**os.environ, **environment}
    return subprocess.run(
        command, cwd=settings.BASE_DIR, env=env, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.fixture(scope="module")
def naive_columns() -> Columns:
    """Return the columns of the naive program's models, by table."""
    django = {"DJANGO_SETTINGS_MODULE": "benchmarks.naive.settings", "DATABASE_URL": "sqlite://:memory:"}
    process = run_python("-c", NAIVE, **django)
    assert process.returncode == 0, process.stderr
    return {table: set(columns) for table, columns in json.loads(process.stdout).items()}


@pytest.fixture(scope="module")
def floor_columns() -> Columns:
    """Return the columns in the floor program's INSERT statements, by table."""
    statements = INSERT.findall(Path(create_customer.__file__).read_text())
    return {table: {column.strip(' \n"') for column in columns.split(",")} for table, columns in statements}


def is_required(field: "Field[object, object]") -> bool:
    """Return True if PostgreSQL rejects a row without this column, even with the defaults of the benchmark."""
    is_filled = field.null or field.primary_key or is_generated(field) or field.db_default is not NOT_PROVIDED
    return not is_filled and get_column_default(field) is None


@pytest.mark.parametrize("variant", ["naive_columns", "floor_columns"])
def test_variants_have_every_column_that_a_row_needs(variant: str, request: pytest.FixtureRequest) -> None:
    variant_columns: Columns = request.getfixturevalue(variant)
    fields = {model._meta.db_table: model._meta.concrete_fields for model in apps.get_models()}
    written = [model._meta.db_table for model in (Customer, Address, Event)]

    missing = {
        f"{table}.{field.column}"
        for table in written
        for field in fields[table]
        if is_required(field) and field.column not in variant_columns[table]
    }
    unknown = {
        f"{table}.{column}"
        for table, columns in variant_columns.items()
        for column in columns - {field.column for field in fields[table]}
    }

    assert (missing, unknown) == (set(), set())


def test_variants_may_lack_fields_but_not_differ_in_the_others() -> None:
    expected = {"customers": [{"id": 1, "email": "a", "address": {"id": 2, "zip": "x"}}, {"id": 3, "email": "b"}]}
    got = {"customers": [{"id": 1, "address": {"id": 2}}, {"id": 4}]}

    assert find_missing_fields(expected, got) == {"customers.email", "customers.address.zip"}
    assert find_differences(expected, got) == ".customers[1].id: 3 / 4\n"
    assert (find_missing_fields(expected, expected), find_differences(expected, expected)) == (set(), "")


def test_documented_results_are_recent() -> None:
    page = Path(settings.BASE_DIR, "docs/performance.md").read_text()
    output = subprocess.run(
        ["git", "log", "-1", "--format=%cs"], cwd=settings.BASE_DIR, capture_output=True, text=True, check=False
    ).stdout
    measured = re.search(r"results of `make bench` on (\w+ \d+, \d{4}), at commit [0-9a-f]{8,40}\b", page)
    if not output:
        pytest.skip("needs a Git repository")

    assert measured is not None
    age = datetime.fromisoformat(output.strip()) - datetime.strptime(measured[1], "%B %d, %Y")  # noqa: DTZ007 - dates
    assert age <= MAX_AGE, "Run make bench, and update docs/performance.md with the new results and their commit."


def test_a_benchmark_without_wrk_fails(tmp_path: Path) -> None:
    process = run_python("-m", "benchmarks.run", "--quick", PATH=str(tmp_path))

    assert (process.returncode, process.stderr) == (1, "The benchmark needs wrk: apt install wrk\n")


def test_a_benchmark_without_postgresql_fails(tmp_path: Path) -> None:
    (tmp_path / "wrk").touch(mode=0o755)

    away = "postgres://127.0.0.1:1/none"
    process = run_python("-m", "benchmarks.run", "--quick", PATH=str(tmp_path), DATABASE_URL=away)

    assert process.returncode == 1
    assert "The benchmark needs PostgreSQL; set DATABASE_URL." in process.stderr


def test_a_benchmark_whose_server_breaks_off_fails(tmp_path: Path) -> None:
    wrk = tmp_path / "wrk"
    wrk.write_text('#!/bin/sh\necho \'RESULT {"requests": 9, "refused": 0, "broken": 1}\'\n')
    wrk.chmod(0o755)
    code = "from benchmarks import load; load.run_load(1, 'list', 'token', '/', 1, 1)"

    process = run_python("-c", code, PATH=f"{tmp_path}:{os.environ['PATH']}")

    assert process.returncode == 1
    assert "1 requests were broken off" in process.stderr
