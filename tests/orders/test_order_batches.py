"""Tests that importing orders in batches writes the same rows to every table as importing one order at a time."""

import io
import json
import uuid
from collections import Counter
from contextlib import closing
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.core.db import planner_statistics
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.customers.domain.customers import create_customer
from apps.customers.models import Customer
from apps.imports_exports.domain import dry_run, imports, runner
from apps.imports_exports.models import Import, ImportedRow
from apps.orders.domain.create import orders
from apps.orders.domain.create.drafts import OrderDraft
from apps.orders.models import Order
from tests.support import factories
from tests.support.compare_shops import ShopTables, remove_ids
from tests.support.factories.orders import make_order, make_variant
from tests.support.webhooks import make_subscription

pytestmark = pytest.mark.usefixtures("media_root")

State = Import.State
MUG = {"title": "Mug", "price": "12.50", "quantity": 2}
BOWL = {"title": "Bowl", "price": "18.00", "properties": [{"name": "Engraving", "value": "Ada"}]}
PLACE = {"first_name": "Ada", "address1": "1 Main Street", "city": "Stockholm", "country": "Sweden"}
TOPICS = ("orders/create", "orders/paid", "orders/cancelled", "customers/create", "order_transactions/create")


def build_orders() -> list[Attrs]:
    """Return import rows for many types of orders. Some orders already exist in the shop or occur twice in the file."""
    rows: list[Attrs] = [
        {"email": "new@example.com", "line_items": [MUG, BOWL], "tags": "vip, new", "shipping_address": PLACE},
        {"email": "ADA@example.com", "line_items": [MUG], "financial_status": "paid", "note": "Ring twice"},
        {"phone": "+46 8 123 456 78", "line_items": [MUG]},
        {"phone": "+46 8 999 999 99", "line_items": [MUG]},
        {"line_items": [MUG], "customer": {"first_name": "No", "last_name": "Keys"}},
        {"line_items": [BOWL]},
        {"email": "new@example.com", "line_items": [MUG], "created_at": "2026-01-05T10:00:00Z"},
        {"line_items": [{"sku": "MUG-1"}, {"sku": "TWICE", "title": "Twice", "price": "1.00"}]},
        {"line_items": [{"sku": "MUG-1", "quantity": 3}], "financial_status": "paid"},
        {
            "email": "buyer@example.com",
            "buyer_accepts_marketing": True,
            "line_items": [{**MUG, "tax_lines": [{"title": "VAT", "rate": "0.25"}]}, BOWL],
            "shipping_lines": [{"title": "Post", "price": "5.00", "tax_lines": [{"title": "VAT", "rate": "0.25"}]}],
            "discount_codes": [{"code": "TEN", "amount": "10", "type": "percentage"}],
            "billing_address": PLACE,
        },
        {"line_items": [MUG], "tax_lines": [{"title": "VAT", "rate": "0.1", "price": "2.50"}], "taxes_included": True},
        {"line_items": [MUG], "transactions": [{"kind": "sale", "amount": "10.00"}], "email": "ada@example.com"},
        {
            "line_items": [MUG],
            "transactions": [
                {"kind": "authorization", "amount": "25.00"},
                {"kind": "capture", "amount": "5.00"},
                {"kind": "sale", "amount": "5.00"},
                {"kind": "sale", "amount": "1.00", "status": "failure"},
            ],
        },
        {"line_items": [MUG], "financial_status": "voided"},
        {"line_items": [MUG], "name": "#1007"},
        {"line_items": [MUG], "name": "#1500", "financial_status": "authorized"},
        {"line_items": [MUG], "name": "A-17"},
        {"line_items": [MUG], "name": "A-17", "id": "another"},
        {"line_items": [MUG], "name": "TAKEN"},
        {"line_items": [MUG], "cancelled_at": "2026-02-01T10:00:00Z", "financial_status": "authorized"},
        {
            "line_items": [MUG],
            "cancelled_at": "2026-02-01",
            "fulfillment_status": "restocked",
            "cancel_reason": "fraud",
        },
        {"line_items": [MUG], "cancelled_at": "2026-02-01", "fulfillment_status": "fulfilled"},
        {"line_items": [MUG], "cancelled_at": "yesterday"},
        {"line_items": [MUG], "fulfillment_status": "fulfilled", "closed_at": "2026-02-01T10:00:00Z"},
        {"line_items": [{**MUG, "fulfillment_status": "partial", "fulfillable_quantity": 1}, BOWL]},
        {"line_items": [{"sku": "JAR"}], "inventory_behaviour": "decrement_obeying_policy"},
        {"line_items": [{"sku": "JAR", "quantity": 9}], "inventory_behaviour": "decrement_obeying_policy"},
        {"line_items": [MUG], "currency": "EUR", "presentment_currency": "SEK", "exchange_rate": "11.5"},
        {"line_items": [MUG], "test": True, "financial_status": "paid", "email": "ada@example.com"},
        # Each of these rows is refused for a different reason.
        {"line_items": []},
        {"line_items": [{"title": "Mug"}]},
        {"line_items": [MUG], "email": "no e-mail"},
        {"line_items": [MUG], "total_price": "1.00"},
        {"line_items": [MUG], "created_at": "2999-01-01"},
        {"line_items": [MUG], "transactions": [{"kind": "capture"}], "email": "never@example.com"},
        {"line_items": [MUG], "financial_status": "refunded"},
        {"line_items": [MUG], "customer": {"email": "x@example.com", "phone": "12"}},
        {"line_items": [MUG], "customer": {"email": "other@example.com", "phone": "+1 415 555 0101"}},
        {"line_items": "junk"},
        {"line_items": [MUG], "fulfill_at": "soon"},
        {"line_items": [MUG], "email": "erased@example.com"},
        # The second row of each pair matches a customer that the first row creates in the same batch.
        {"line_items": [MUG], "customer": {"email": "first@example.com", "phone": "+1 415 555 0177"}},
        {"line_items": [MUG], "customer": {"email": "second@example.com", "phone": "+1 415 555 0177"}},
        {"line_items": [MUG], "email": "last@example.com", "financial_status": "paid"},
        {"line_items": [MUG], "email": "last@example.com", "financial_status": "paid"},
    ]
    for number, row in enumerate(rows):
        row.setdefault("id", number + 1)
    return [*rows, rows[0], {"id": "gone", "line_items": [BOWL]}, {"id": "there", "line_items": [BOWL]}]


def create_prepared_shop(domain: str, *, has_subscribers: bool) -> Shop:
    """Create a shop with customers, variants, an order and rows from an earlier import."""
    shop = factories.make_shop(domain=domain, name="Shop")
    make_variant(shop)
    make_variant(shop, sku="TWICE")
    make_variant(shop, sku="TWICE")
    make_variant(shop, sku="JAR", stock=5)
    if has_subscribers:
        installation = factories.make_installation(shop, name="App")
        for topic in TOPICS:
            make_subscription(installation, "https://apps.example.com/hooks", topic=topic)
    with shop_scope(shop):
        at = timezone.now()
        for keys in (
            {"email": "ada@example.com", "phone": "+14155550101"},
            {"first_name": "Bo", "phone": "+46812345678"},
            {"email": "erased@example.com"},
        ):
            create_customer(keys, actor="system", at=at)
        Customer.objects.filter(email="erased@example.com").update(erasing_at=at)
        make_order(shop, name="TAKEN")
        before = save_file([{"id": "gone", "line_items": [MUG]}, {"id": "there", "line_items": [MUG]}])
        imports.skip_validation(before)
        with closing(runner.run_import(before)) as session:
            list(session)
        deleted_row = ImportedRow.objects.get(source_key="order:gone")
        Order.objects.get(name=deleted_row.label).delete()
    return shop


def save_file(rows: list[Attrs]) -> Import:
    text = "".join(json.dumps({"order": row}) + "\n" for row in rows) + "no JSON\n"
    return imports.save_upload(io.BytesIO(text.encode()), "in.jsonl", actor="system", at=timezone.now())


def check_and_run(shop: Shop) -> tuple[list[Any], dict[str, list[str]]]:
    """Check and import the file; return the check's results and all rows of the shop."""
    with shop_scope(shop):
        import_job = save_file(build_orders())
        with closing(dry_run.validate_file(import_job)) as session:
            outcomes = [
                (row.line, what.result, remove_ids(str(what.reason or "")), dict(what.changes)) for row, what in session
            ]
        imports.start_import(
            Import.objects.get(pk=import_job.pk), without_unknown=True, actor="system", at=timezone.now()
        )
        with closing(runner.run_import(import_job)) as session:
            list(session)
    return outcomes, ShopTables(shop).dump()


def find_differences(table: list[str], other: list[str]) -> tuple[list[str], list[str]]:
    """Return the rows that are only in the first table, and the rows that are only in the second table."""
    return sorted((Counter(table) - Counter(other)).elements()), sorted((Counter(other) - Counter(table)).elements())


@pytest.mark.parametrize("received", [False, True], ids=["nobody listens", "an app listens"])
def test_batches_of_orders_equal_single_orders(db: None, monkeypatch: pytest.MonkeyPatch, received: bool) -> None:
    together: list[int] = []
    create_orders = orders.create_orders

    def count_batches(drafts: list[OrderDraft], **values: Any) -> Any:
        refusals = create_orders(drafts, **values)
        together.append(refusals.count(None))
        return refusals

    monkeypatch.setattr(orders, "create_orders", count_batches)
    results = []
    for number, at_once in enumerate((1, 9)):
        monkeypatch.setattr(runner, "BATCH_SIZE", at_once)
        results.append(check_and_run(create_prepared_shop(f"shop{number}.example", has_subscribers=received)))
        assert bool(together) == (at_once > 1)

    (message, tables), (said_together, tables_together) = results
    assert said_together == message
    assert {label: find_differences(rows, tables_together.get(label, [])) for label, rows in tables.items()} == {
        label: ([], []) for label in tables
    }
    assert tables_together.keys() == tables.keys()
    # Most orders were created in a batch, not one by one after a fallback.
    assert sum(together) > 20
    assert Counter(fate for _, fate, _, _ in message) > Counter({"new": 28, "skipped": 2, "failed": 12})


def test_a_check_of_orders_writes_none(in_shop: Shop) -> None:
    import_job = save_file(
        [{"id": number, "line_items": [MUG], "email": f"ada{number}@example.com"} for number in range(8)]
    )

    with CaptureQueriesContext(connection) as statements, closing(dry_run.validate_file(import_job)) as session:
        assert Counter(outcome.result for _, outcome in session) == {"new": 8, "failed": 1}

    sqls = [statement["sql"] for statement in statements if statement["sql"].startswith(("INSERT", "UPDATE", "DELETE"))]
    assert sqls
    assert not [text for text in sqls if "imports_exports_import" not in text]


def test_more_orders_take_no_more_statements(in_shop: Shop) -> None:
    counts = []
    for size in (10, 40):
        rows = [
            {
                "id": f"{size}-{number}",
                "line_items": [MUG],
                "email": f"a{number}@example.com",
                "financial_status": "paid",
            }
            for number in range(size)
        ]
        import_job = save_file(rows)
        imports.skip_validation(import_job)
        with CaptureQueriesContext(connection) as statements, closing(runner.run_import(import_job)) as session:
            assert sum(outcome.result == "new" for _, outcome in session) == size
        counts.append(len([statement for statement in statements if statement["sql"].startswith(("INSERT", "SELECT"))]))

    few_count, many_count = counts
    assert many_count <= few_count + 4
    assert {row.total_price for row in Order.objects.all()} == {Decimal(25)}


def test_planner_statistics_are_updated_during_large_imports(in_shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner_statistics, "FIRST_REFRESH", 4)
    monkeypatch.setattr(runner, "BATCH_SIZE", 2)
    import_job = save_file([{"id": number, "line_items": [MUG]} for number in range(39)])
    imports.skip_validation(import_job)

    with CaptureQueriesContext(connection) as statements, closing(runner.run_import(import_job)) as session:
        assert sum(outcome.result == "new" for _, outcome in session) == 39

    count = 0
    counted = []
    for statement in statements:
        count += 2 * statement["sql"].startswith('INSERT INTO "orders_order"')
        if statement["sql"].startswith("ANALYZE"):
            counted.append(count)
    assert counted == [4, 16]


@pytest.mark.django_db(transaction=True)
def test_a_batch_of_orders_rings_the_broker_once(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[tuple[uuid.UUID, ...]] = []
    monkeypatch.setattr(queue, "notifiers", {"test": lambda *keys: messages.append(keys)})
    with shop_scope(shop):
        import_job = save_file([{"id": number, "line_items": [MUG]} for number in range(60)])
        imports.skip_validation(import_job)

        with closing(runner.run_import(import_job)) as session:
            assert sum(outcome.result == "new" for _, outcome in session) == 60

        jobs = set(Job.objects.filter(task="fulfillment.route").values_list("key", flat=True))
    assert [len(keys) for keys in messages] == [50, 10]
    assert {key for keys in messages for key in keys} == jobs
