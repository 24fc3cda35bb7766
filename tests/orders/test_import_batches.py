"""Batches of imported rows bring the same as one row at a time, and nothing is lost when a worker dies."""

import io
import json
from collections import Counter
from contextlib import closing
from datetime import timedelta
from decimal import Decimal
from itertools import islice
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.core.db import planner_statistics
from apps.core.events.models import Event
from apps.core.jobs import publishing
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.customers.domain.customers import create_customer
from apps.customers.models import Address, ConsentChange, Customer
from apps.imports_exports.domain import dry_run, imports, runner
from apps.imports_exports.domain.runner import ImportLeaseLost
from apps.imports_exports.models import Import, ImportedRow
from apps.orders.domain.create import orders
from apps.orders.domain.create.drafts import OrderDraft
from apps.orders.models import Order
from tests.support import factories
from tests.support.compare_shops import ShopTables, remove_ids
from tests.support.factories.orders import make_order, make_variant
from tests.support.files.import_export import get_row_results
from tests.support.webhooks import make_subscription

pytestmark = pytest.mark.usefixtures("media_root")

Fate = ImportedRow.Fate
State = Import.State
AT_ONCE = 3
MUG = {"title": "Mug", "price": "12.50", "quantity": 2}
BOWL = {"title": "Bowl", "price": "18.00", "properties": [{"name": "Engraving", "value": "Ada"}]}
PLACE = {"first_name": "Ada", "address1": "1 Main Street", "city": "Stockholm", "country": "Sweden"}
TOPICS = ("orders/create", "orders/paid", "orders/cancelled", "customers/create", "order_transactions/create")


def build_people(count: int) -> list[Attrs]:
    """Return import rows: ``count`` valid customers, then rows with a known customer or invalid values."""
    rows: list[Attrs] = [
        {
            "first_name": f"Ada{number}",
            "email": f"ada{number}@example.com",
            "tags": "vip, new",
            "email_marketing_consent": {"state": "subscribed"},
            "addresses": [{"address1": f"{number} Main Street", "country": "Sweden"}],
        }
        for number in range(count)
    ]
    rows[1]["addresses"].append({"city": "Stockholm", "country": "Sweden", "default": True})
    rows[2] |= {"email": None, "phone": "+46 8 123 456 78", "email_marketing_consent": None}
    return [
        *rows,
        {"first_name": "Augusta", "email": "ADA0@example.com"},
        {"email": "no e-mail"},
        {},
        {"first_name": "Eve", "email": "eve@example.com", "phone": "+46812345678"},
        {"first_name": "Eve", "email": "eve@example.com"},
    ]


def save_file(rows: list[Attrs], kind: str = "order") -> Import:
    text = "".join(json.dumps({kind: row}) + "\n" for row in rows) + "no JSON\n"
    return imports.save_upload(io.BytesIO(text.encode()), "in.jsonl", actor="system", at=timezone.now())


def get_imported(shop: Shop) -> list[Any]:
    """Return the rows that an import created in a shop, without values that differ between shops."""
    with shop_scope(shop):
        first = Customer.objects.order_by("pk").values_list("pk", flat=True)[0]
        consents = ConsentChange.objects.order_by("customer_id", "channel", "pk")
        return [
            [
                (row.pk - first, row.first_name, row.email, row.phone, row.tags, row.search_text, row.search_places)
                for row in Customer.objects.order_by("pk")
            ],
            [
                (row.customer_id - first, row.address1, row.city, row.pk == row.customer.default_address_id)
                for row in Address.objects.select_related("customer").order_by("pk")
            ],
            [(row.customer_id - first, row.channel, row.state, row.actor) for row in consents],
            Counter(Event.objects.filter(topic__startswith="customers").values_list("topic", flat=True)),
            [(line, fate, reason) for line, fate, reason in get_row_results(shop)],
        ]


def run_import(import_job: Import) -> list[str]:
    imports.skip_validation(import_job)
    with closing(runner.run_import(import_job)) as session:
        return [outcome.result for _, outcome in session]


def test_rows_together_become_what_they_become_one_by_one(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    other = factories.make_shop(domain="other.example")
    for item, at_once in ((shop, 1), (other, AT_ONCE)):
        monkeypatch.setattr(runner, "BATCH_SIZE", at_once)
        with shop_scope(item):
            assert len(run_import(save_file(build_people(8), "customer"))) == 14

    assert get_imported(other) == get_imported(shop)
    with shop_scope(other):
        counts = Counter(ImportedRow.objects.filter(dry=False).values_list("fate", flat=True))
    assert counts == {Fate.NEW: 8, Fate.CHANGED: 2, Fate.SKIPPED: 1, Fate.FAILED: 3}


@pytest.mark.parametrize(
    ("kind", "rows", "counts"),
    [
        ("customer", build_people(8), {Fate.NEW: 8, Fate.CHANGED: 3, Fate.FAILED: 3}),
        (
            "order",
            [{"id": n, "line_items": [MUG], "email": f"ada{n}@example.com"} for n in range(8)],
            {"new": 8, "failed": 1},
        ),
    ],
    ids=["customers", "orders"],
)
def test_a_check_writes_no_customers_and_orders(
    in_shop: Shop, kind: str, rows: list[Attrs], counts: dict[str, int]
) -> None:
    import_job = save_file(rows, kind)

    with CaptureQueriesContext(connection) as statements, closing(dry_run.validate_file(import_job)) as session:
        assert Counter(outcome.result for _, outcome in session) == counts

    sqls = [statement["sql"] for statement in statements if statement["sql"].startswith(("INSERT", "UPDATE", "DELETE"))]
    assert sqls
    assert not [text for text in sqls if "imports_exports_import" not in text]


def run_until_killed(messages: Any, rows: int) -> int:
    """Process ``rows`` rows, then stop as if the worker were killed; return the number of processed rows."""
    count = sum(1 for _ in islice(messages, rows))
    # A killed worker cannot release its lease, so the lease must expire.
    Import.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    return count


def test_a_check_goes_on_where_it_was_cut_off(in_shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "BATCH_SIZE", AT_ONCE)
    import_job, broken = save_file(build_people(8), "customer"), save_file(build_people(8), "customer")
    with closing(dry_run.validate_file(import_job)) as session:
        list(session)
    abandoned = dry_run.validate_file(broken)
    run_until_killed(abandoned, 2 * AT_ONCE)

    with closing(dry_run.validate_file(Import.objects.get(pk=broken.pk))) as session:
        rest = [row.line for row, _ in session]

    assert rest == list(range(2 * AT_ONCE + 1, 15))
    import_job.refresh_from_db()
    broken.refresh_from_db()
    assert (broken.state, broken.total, broken.counts) == (State.CHECKED, 14, import_job.counts)
    noted = ImportedRow.objects.order_by("line").values_list("line", "fate", "reason", "changes")
    assert list(noted.filter(file=broken)) == list(noted.filter(file=import_job))
    with pytest.raises(ImportLeaseLost):
        list(abandoned)


def test_an_import_goes_on_where_it_was_cut_off(in_shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "BATCH_SIZE", AT_ONCE)
    import_job = save_file(build_people(8), "customer")
    imports.skip_validation(import_job)
    abandoned = runner.run_import(import_job)
    run_until_killed(abandoned, AT_ONCE)

    with closing(runner.run_import(Import.objects.get(pk=import_job.pk))) as session:
        rest = [row.line for row, _ in session]

    assert rest == list(range(AT_ONCE + 1, 15))
    assert Customer.objects.count() == 8
    assert Event.objects.filter(topic="customers/create").count() == 8
    assert ImportedRow.objects.filter(file=import_job, dry=False).count() == 14
    with pytest.raises(ImportLeaseLost):
        list(abandoned)
    assert Customer.objects.count() == 8


# --- orders ---


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
        run_import(save_file([{"id": "gone", "line_items": [MUG]}, {"id": "there", "line_items": [MUG]}]))
        deleted_row = ImportedRow.objects.get(source_key="order:gone")
        Order.objects.get(name=deleted_row.label).delete()
    return shop


def check_and_run(shop: Shop) -> tuple[list[Any], dict[str, list[str]]]:
    with shop_scope(shop):
        import_job = save_file(build_orders())
        with closing(dry_run.validate_file(import_job)) as session:
            outcomes = [
                (row.line, what.result, remove_ids(str(what.reason or "")), dict(what.changes)) for row, what in session
            ]
        import_job.refresh_from_db()
        imports.start_import(import_job, without_unknown=True, actor="system", at=timezone.now())
        with closing(runner.run_import(import_job)) as session:
            list(session)
    return outcomes, ShopTables(shop).dump()


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
    assert tables_together.keys() == tables.keys()
    for label, rows in tables.items():
        one, other = Counter(rows), Counter(tables_together[label])
        assert (label, sorted((one - other).elements()), sorted((other - one).elements())) == (label, [], [])
    # Most orders were created in a batch, not one by one after a fallback.
    assert sum(together) > 20
    assert Counter(fate for _, fate, _, _ in message) > Counter({"new": 28, "skipped": 2, "failed": 12})


def test_more_orders_take_no_more_statements(in_shop: Shop) -> None:
    counts = []
    for size in (10, 40):
        common = {"line_items": [MUG], "financial_status": "paid"}
        import_job = save_file([{"id": f"{size}-{n}", "email": f"a{n}@example.com", **common} for n in range(size)])
        with CaptureQueriesContext(connection) as statements:
            assert run_import(import_job).count("new") == size
        counts.append(len([statement for statement in statements if statement["sql"].startswith(("INSERT", "SELECT"))]))

    few_count, many_count = counts
    assert many_count <= few_count + 4
    assert {row.total_price for row in Order.objects.all()} == {Decimal(25)}


def test_planner_statistics_are_updated_during_large_imports(in_shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner_statistics, "FIRST_REFRESH", 4)
    monkeypatch.setattr(runner, "BATCH_SIZE", 2)
    import_job = save_file([{"id": number, "line_items": [MUG]} for number in range(39)])

    with CaptureQueriesContext(connection) as statements:
        assert run_import(import_job).count("new") == 39

    count = 0
    counted = []
    for statement in statements:
        count += 2 * statement["sql"].startswith('INSERT INTO "orders_order"')
        if statement["sql"].startswith("ANALYZE"):
            counted.append(count)
    assert counted == [4, 16]


@pytest.mark.django_db(transaction=True)
def test_a_batch_of_orders_sends_only_what_the_shop_may_send(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    monkeypatch.setattr(publishing, "send_task", lambda name, *, task_id, **_: messages.append(task_id))
    with shop_scope(shop):
        assert run_import(save_file([{"id": n, "line_items": [MUG]} for n in range(60)])).count("new") == 60
        jobs = Job.objects.filter(task="fulfillment.route_order").order_by("pk")
        sent = [str(job.key) for job in jobs if job.rung_at]
    assert (len(jobs), len(sent)) == (60, settings.MAX_JOBS_PER_SHOP)
    assert messages == sent
