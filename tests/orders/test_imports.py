import io
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from pytest_django import Settings
from time_machine import TimeMachineFixture

from apps.core.events.models import Event
from apps.core.jobs import queue as jobs
from apps.core.jobs.models import Job
from apps.core.jobs.periodic_tasks import Every
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope
from apps.core.types import Attrs
from apps.customers.models import Customer
from apps.demo.data.customers import load_demo_customers
from apps.demo.management.commands import demo
from apps.imports_exports.domain import exports, files, imports, runner
from apps.imports_exports.models import Export, Import, ImportedRow
from apps.orders.models import LineItem, Order
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.databases.races import run_concurrently, run_unguarded, without_constraint
from tests.support.factories.orders import make_order
from tests.support.files.import_export import export_text, get_row_results, import_text, to_json_lines
from tests.support.periodic import run_periodic_tasks
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("media_root", "in_shop")

Fate = ImportedRow.Fate
State = Import.State


def save_file(text: str, name: str = "in.jsonl", actor: str = "system") -> Import:
    return imports.save_upload(io.BytesIO(text.encode()), name, actor=actor, at=timezone.now())


def get_customers(shop: Shop) -> list[tuple[str, str, str]]:
    return list(Customer.objects.order_by("pk").values_list("first_name", "email", "phone"))


# --- which row is updated ---------------------------------------------------------------------------------------------

ADA = {"first_name": "Ada", "email": "ada@example.com", "phone": "+14155550101"}
BOB = {"first_name": "Bob", "email": "bob@example.com", "phone": "+14155550102"}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"first_name": "Eve", "email": "eve@example.com", "phone": ADA["phone"]}, "who has a different email"),
        ({"first_name": "Eve", "email": BOB["email"], "phone": ADA["phone"]}, "the phone number belongs to Ada"),
    ],
)
def test_contradictory_keys_are_refused_and_named(shop: Shop, tmp_path: Path, row: dict[str, str], reason: str) -> None:
    import_text(shop, to_json_lines({"customer": ADA}, {"customer": BOB}), tmp_path)
    before = get_customers(shop)

    tried = import_text(shop, to_json_lines({"customer": row}), tmp_path, "again.jsonl", dry_run=True)
    import_text(shop, to_json_lines({"customer": row}), tmp_path, "again.jsonl")

    assert get_customers(shop) == before
    matching_row = ImportedRow.objects.get(file__name="again.jsonl")
    ada = Customer.objects.get(first_name="Ada")
    assert matching_row.fate == Fate.FAILED
    assert reason in matching_row.reason
    assert f"(customer {ada.pk})" in matching_row.reason
    assert matching_row.reason in tried


def test_the_weaker_key_alone_finds_a_customer(shop: Shop, tmp_path: Path) -> None:
    import_text(shop, to_json_lines({"customer": {"first_name": "Ada", "phone": ADA["phone"]}}), tmp_path)

    by_phone = {"phone": "(415) 555-0101", "note": "by phone"}
    with_email = {"phone": ADA["phone"], "email": "ada@example.com"}
    import_text(shop, to_json_lines({"customer": by_phone}, {"customer": with_email}), tmp_path, "again.jsonl")

    assert get_customers(shop) == [("Ada", "ada@example.com", "+14155550101")]
    assert Customer.objects.get().note == "by phone"


def test_the_check_sees_rows_that_will_collide_with_rows_before(shop: Shop, tmp_path: Path) -> None:
    same = {"first_name": "Ada", "phone": "+1 415 555 0101"}
    rows = [ADA, {**BOB, "phone": ADA["phone"]}, {"email": ADA["email"], "note": "n"}, same]
    text = to_json_lines(*({"customer": row} for row in rows))

    tried = import_text(shop, text, tmp_path, dry_run=True)
    import_text(shop, text, tmp_path)

    fates = [line.split(" – ")[0].split(": ")[1] for line in tried.splitlines()[:-1]]
    assert fates == ["new", "failed", "changed", "changed"]
    assert [fate for _, fate, _ in get_row_results(shop)] == ["new", "failed", "changed", "skipped"]


def test_an_order_is_not_given_to_a_stranger_with_the_same_phone(api: ApiClient, tmp_path: Path) -> None:
    shop = api.installation.shop
    import_text(shop, to_json_lines({"customer": ADA}), tmp_path)
    order = {"line_items": [{"title": "a", "price": "1.00"}], "customer": {"email": "eve@x.com", "phone": ADA["phone"]}}

    response = api.post("orders.json", {"order": order})
    import_text(shop, to_json_lines({"order": order}), tmp_path, "orders.jsonl")

    assert (response.status_code, response.json()) == (422, {"errors": {"customer.phone": ["has already been taken"]}})
    assert not Order.objects.exists()
    row = ImportedRow.objects.get(file__name="orders.jsonl")
    assert row.reason.startswith(f"The phone number belongs to Ada (customer {Customer.objects.get().pk})")


# --- no half orders ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "created", "failed"),
    [
        ([b"#1,a,1.00", b"#1,b,1.00,x", b"#1,c,1.00", b"#2,d,1.00"], {"#2": 1}, {2, 3}),
        ([b"#1,a,1.00,x", b"#1,b,1.00", b"#2,c,1.00"], {"#2": 1}, {2, 3}),
        ([b"#1,a,1.00", b"#1,b,1.00,x", b"#2,c,1.00", b"#3,d,1.00"], {"#3": 1}, {2, 3, 4}),
        ([b"#1,a,1.00", b"#2,b\0,1.00", b"#2,c,1.00", b"#3,d,1.00"], {"#1": 1, "#3": 1}, {3}),
        ([b"#1,a,1.00", b"\0,b,1.00", b"#2,c,1.00", b"#3,d,1.00"], {"#3": 1}, {2, 3, 4}),
        ([b"#1,a,1.00", b'#1,"b,1.00', b"#2,c,1.00", b"#3,d,1.00"], {}, {2, 5}),
        ([b"#1,a,1.00", b"#1,b,1.005", b"#2,c,1.00"], {"#2": 1}, {2}),
    ],
    ids=["middle", "first", "last", "known whose", "not known whose", "open quote", "a value"],
)
def test_orders_are_never_partial(
    shop: Shop, tmp_path: Path, rows: list[bytes], created: dict[str, int], failed: set[int]
) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"\n".join([b"order,line_title,line_price", *rows, b""]))

    with pytest.raises(CommandError, match=rf"^{len(failed)} rows? failed\.$"):
        call_command("import_orders", str(path), shop=shop.domain, stdout=io.StringIO())

    assert {order.name: order.line_items.count() for order in Order.objects.all()} == created
    assert {line for line, fate, _ in get_row_results(shop) if fate == Fate.FAILED} == failed


def test_an_order_that_is_left_out_says_which_row_was_bad(shop: Shop, tmp_path: Path) -> None:
    text = "order,line_title,line_price\n#1,a,1.00\n#1,b,1.00,x\n#1,c,1.00\n"

    import_text(shop, text, tmp_path, "in.csv")

    bad = "has 4 cells, but the file has 3 columns"
    left_out = f"order #1 can't be imported: line 3 {bad}, and this line may be one of its rows"
    assert [(line, reason) for line, _, reason in get_row_results(shop)] == [(2, left_out), (3, bad)]


# --- unknown columns --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header", ["First Name,E-Mail", "FIRST_NAME,email", "first name,Email Address", "Given Name,e mail"]
)
def test_columns_are_known_however_they_are_spelled(shop: Shop, tmp_path: Path, header: str) -> None:
    report = import_text(shop, f"{header}\nAda,ada@example.com\n", tmp_path, "in.csv")

    assert report == "Done: 1 new, 0 changed, 0 skipped, 0 failed.\n"
    assert get_customers(shop) == [("Ada", "ada@example.com", "")]


def test_exports_of_other_systems_come_in(shop: Shop, tmp_path: Path) -> None:
    people = (
        "First Name,Last Name,Email,Accepts Email Marketing,Default Address Company,Default Address Address1,"
        "Default Address City,Default Address Province Code,Default Address Country Code,Default Address Zip,"
        "Phone,Total Spent,Total Orders,Note,Tax Exempt,Tags\n"
        "Ada,L,ada@example.com,yes,Engines,1 Main St,Albany,NY,US,12207,'+15185550101,0.00,0,,no,vip\n"
    )
    orders = (
        "Name,Email,Financial Status,Fulfillment Status,Currency,Shipping,Total,Shipping Method,Created at,"
        "Lineitem quantity,Lineitem name,Lineitem price,Lineitem sku,Billing City,Billing Country,Notes\n"
        "#7001,ada@example.com,paid,unfulfilled,USD,5.00,25.00,Post,2025-03-02 10:00:00 -0500,2,Mug,10.00,M,"
        "Albany,US,hi\n"
        "#7001,ada@example.com,,,,,,,2025-03-02 10:00:00 -0500,1,Card,0.00,,,,\n"
    )

    report = [import_text(shop, text, tmp_path, f"{name}.csv") for name, text in (("p", people), ("o", orders))]

    assert report == ["Done: 1 new, 0 changed, 0 skipped, 0 failed.\n"] * 2
    customer, order = Customer.objects.get(), Order.objects.get()
    assert customer.default_address is not None
    assert (customer.default_address.city, customer.default_address.province_code) == ("Albany", "NY")
    assert (order.name, order.total_price, order.financial_status) == ("#7001", Decimal("25.00"), "paid")
    assert order.billing_address is not None
    assert order.billing_address["city"] == "Albany"
    assert LineItem.objects.count() == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("in.csv", "Email,Shoe size,Hat\nada@example.com,38,M\n"),
        ("in.jsonl", to_json_lines({"customer": {"email": "ada@example.com", "Shoe size": 38, "Hat": "M"}})),
    ],
)
def test_unknown_columns_are_listed_and_need_confirmation(shop: Shop, tmp_path: Path, name: str, text: str) -> None:
    tried = import_text(shop, text, tmp_path, name, dry_run=True)
    with pytest.raises(CommandError) as refused:
        import_text(shop, text, tmp_path, name)
    remaining_customers = get_customers(shop)
    report = import_text(shop, text, tmp_path, name, ignore_unknown=True)

    names = {"Shoe size", "Hat"}
    assert names <= set(tried.splitlines()[0].removeprefix("Ignored unknown columns: ").split(", "))
    assert all(column in str(refused.value) for column in names)
    assert "--ignore-unknown" in str(refused.value)
    assert remaining_customers == []
    assert report == "Done: 1 new, 0 changed, 0 skipped, 0 failed.\n"
    assert not list((tmp_path / "m" / "imports").rglob("*.*"))


def test_columns_of_an_export_are_all_known_to_the_import(shop: Shop, other_shop: Shop, tmp_path: Path) -> None:
    user = factories.make_member(shop, "export_orders", "export_customers")
    make_order(shop, email="ada@example.com")

    for kind in ("customers", "orders"):
        for form in ("csv", "jsonl"):
            text = export_text(shop, user, kind, form)
            assert "Unknown columns" not in import_text(other_shop, text, tmp_path, f"{kind}.{form}", dry_run=True)


# --- one import at a time, once ---------------------------------------------------------------------------------------


def create_started_import(shop: Shop, count: int = 4) -> Import:
    rows = [{"order": {"line_items": [{"title": f"a{n}", "price": "1.00"}]}} for n in range(count)]
    import_job = save_file(to_json_lines(*rows))
    imports.skip_validation(import_job)
    return import_job


def test_two_do_not_work_on_one_import(shop: Shop) -> None:
    import_job = create_started_import(shop)
    with closing(runner.run_import(import_job)) as first:
        next(first)
        with pytest.raises(runner.ImportBusy):
            next(runner.run_import(import_job))
        rest = len(list(first))

        assert rest == 3
        assert Order.objects.count() == 4


def test_a_worker_that_lost_its_import_writes_nothing_more(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "BATCH_SIZE", 1)
    import_job = create_started_import(shop)
    with closing(runner.run_import(import_job)) as first:
        next(first)
        # The lease expires, and another worker takes over.
        Import.objects.filter(pk=import_job.pk).update(claimed_until=timezone.now() - timedelta(hours=1))
        with closing(runner.run_import(import_job)) as second:
            next(second)
            with pytest.raises(runner.ImportLeaseLost):
                next(first)
            rest = len(list(second))

        assert rest == 2
        assert list(import_job.fates.order_by("line").values_list("fate", flat=True)) == ["new"] * 4
        assert Order.objects.count() == 4


def test_the_same_file_again_makes_no_order_twice(shop: Shop, tmp_path: Path) -> None:
    import_job = create_started_import(shop)
    with default_storage.open(import_job.path) as file:
        text = file.read().decode()
    with closing(runner.run_import(import_job)) as first:
        next(first)
        with pytest.raises(CommandError, match="This file is being processed"):
            import_text(shop, text, tmp_path)
        list(first)

    report = import_text(shop, text, tmp_path)

    assert report == "Done: 0 new, 0 changed, 4 skipped, 0 failed.\n"
    assert Order.objects.count() == 4


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_a_row_in_two_files_creates_two_orders_without_the_unique_key")
def test_two_imports_of_one_file_at_once_make_each_order_once(shop: Shop) -> None:
    both = [create_started_import(shop, 20), create_started_import(shop, 20)]

    def work(saved_row: Import) -> Callable[[], list[str]]:
        return lambda: [outcome.result for _, outcome in runner.run_import(saved_row)]

    results = run_concurrently(shop, *(work(saved_row) for saved_row in both))

    assert Order.objects.count() == 20
    assert ImportedRow.objects.filter(fate=Fate.NEW).count() == 20
    assert sorted(fate for fates_ in results for fate in fates_) == ["new"] * 20 + ["skipped"] * 20


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_row_in_two_files_creates_two_orders_without_the_unique_key(shop: Shop) -> None:
    """Show what goes wrong without the unique key: neither import sees the other import's row."""
    first_import, two = create_started_import(shop, 1), create_started_import(shop, 1)

    with without_constraint(ImportedRow, "shop_id", "source_key"):
        run_unguarded(shop, lambda: list(runner.run_import(first_import)), lambda: list(runner.run_import(two)))

        assert Order.objects.count() == 2


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_two_workers_run_one_import_without_the_condition")
def test_one_of_two_concurrent_runs_of_an_import_works(shop: Shop) -> None:
    import_job = create_started_import(shop, 20)

    results = run_concurrently(shop, *[lambda: len(list(runner.run_import(import_job)))] * 4)

    assert Order.objects.count() == 20
    assert [result for result in results if not isinstance(result, runner.ImportBusy)] == [20]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_workers_run_one_import_without_the_condition(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Show what goes wrong without the lease condition: the second worker takes the lease during the import."""
    monkeypatch.setattr(runner, "BATCH_SIZE", 1)
    import_job = create_started_import(shop)
    work = runner.run_import(import_job)

    works = (lambda: next(work)), (lambda: list(runner.run_import(import_job)))
    worked = run_unguarded(shop, *works, conditions={Import._meta.db_table: ("claimed_until",)})

    assert len(worked) == 3, "of four rows, one was the first one's"
    with pytest.raises(runner.ImportLeaseLost):
        next(work)


# --- failed and retried -----------------------------------------------------------------------------------------------


def enqueue_export(shop: Shop) -> tuple[Export, Job]:
    user = factories.make_member(shop, "export_orders")
    make_order(shop)
    export = exports.create_export(
        kind="orders", format="csv", filters={}, user=user, actor="system", at=timezone.now()
    )
    return export, Job.objects.get(task=exports.EXPORT)


def enqueue_check() -> tuple[Import, Job]:
    import_job = save_file(to_json_lines({"customer": ADA}))
    imports.enqueue_validation(import_job, actor="system")
    return import_job, Job.objects.get(task=imports.VALIDATE_TASK)


def fail_job(job: Job) -> None:
    """Run a job's last attempt, which fails."""
    Job.objects.filter(pk=job.pk).update(attempts=jobs.MAX_ATTEMPTS)
    jobs.run_job(job.key)
    job.refresh_from_db()
    assert job.state == Job.State.FAILED


def retry_failed_job(job: Job) -> Job:
    assert jobs.retry_job(job)
    assert jobs.run_job(job.key)
    job.refresh_from_db()
    return job


def test_a_failed_export_is_created_when_retried(shop: Shop) -> None:
    export, job = enqueue_export(shop)
    fail_job(job)
    export.refresh_from_db()
    given_up = export.state

    job = retry_failed_job(job)

    export.refresh_from_db()
    assert (given_up, job.state, export.state, export.row_count) == ("failed", "done", "ready", 1)
    assert default_storage.exists(export.path)


@pytest.mark.parametrize("checking", [True, False])
def test_a_failed_import_continues_when_retried(shop: Shop, checking: bool) -> None:
    import_job, job = enqueue_check()
    if not checking:
        jobs.run_job(job.key)
        imports.start_import(import_job, actor="system", at=timezone.now())
        job = Job.objects.get(task=imports.RUN_TASK)
    fail_job(job)
    import_job.refresh_from_db()
    given_up = import_job.state, import_job.problem

    job = retry_failed_job(job)

    import_job.refresh_from_db()
    assert given_up[0] == "failed"
    assert "retry the background job" in given_up[1]
    assert (job.state, import_job.state, import_job.problem) == ("done", "checked" if checking else "done", "")
    assert bool(get_customers(shop)) is not checking


def test_an_import_with_a_deleted_file_says_so_on_retry() -> None:
    _, job = enqueue_check()
    fail_job(job)
    Import.objects.update(updated_at=timezone.now() - timedelta(days=8))
    run_periodic_tasks(Every.HOUR)

    job = retry_failed_job(job)

    assert job.state == Job.State.FAILED
    assert "retry the background job" in job.error or "deleted" in job.error


# --- orphan files -----------------------------------------------------------------------------------------------------


def list_stored_files() -> set[str]:
    return set(files._iterate_paths())


def test_two_writers_of_one_export_leave_one_file(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    export, job = enqueue_export(shop)
    once = default_storage.save

    def overtaken(index: str, file: Any) -> str:
        monkeypatch.undo()
        exports.write_export(job, export_id=export.pk)
        return once(index, file)

    monkeypatch.setattr(default_storage, "save", overtaken)
    exports.write_export(job, export_id=export.pk)
    export.refresh_from_db()

    assert list_stored_files() == {export.path}
    exports.expire_export(job, export_id=export.pk)
    assert list_stored_files() == set()


def test_unused_files_are_cleared_after_a_day(shop: Shop, tmp_path: Path, time_machine: TimeMachineFixture) -> None:
    user = factories.make_member(shop, "export_orders")
    make_order(shop)
    export_text(shop, user, "orders", "csv")
    import_job, lost_import_job = save_file("x"), save_file("y")
    lost_import_job.delete()
    export = Export.objects.get()
    stray = files.store_file(export.create_path(), io.BytesIO(b"z"))

    run_periodic_tasks(Every.HOUR)
    young = list_stored_files()
    run_periodic_tasks(Every.HOUR, timezone.now() + timedelta(hours=25))

    assert young == {import_job.path, lost_import_job.path, export.path, stray}
    assert list_stored_files() == {import_job.path, export.path}


def test_a_failed_upload_leaves_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **options: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(imports, "record_event", broken)
    with pytest.raises(RuntimeError):
        save_file("x")

    assert list_stored_files() == set()


# --- names, dates, fulfillments ---------------------------------------------------------------------------------------


def import_and_get_orders(shop: Shop, tmp_path: Path, *orders: JsonObject, name: str = "in.jsonl") -> list[Order]:
    line = {"title": "a", "price": "1.00", "quantity": 3}
    import_text(shop, to_json_lines(*({"order": {"line_items": [line], **order}} for order in orders)), tmp_path, name)
    return list(Order.objects.order_by("pk"))


def test_an_order_keeps_its_name_and_its_date(shop: Shop, tmp_path: Path) -> None:
    dates = {"created_at": "2024-05-06T07:08:09Z", "processed_at": "2024-05-05T00:00:00Z"}
    orders = import_and_get_orders(
        shop, tmp_path, {"name": "#1500", **dates}, {"name": "SE-7"}, {"id": 5, "created_at": "2024-01-01T00:00:00Z"}
    )

    assert [(order.name, order.number) for order in orders] == [("#1500", 500), ("SE-7", 501), ("#1502", 502)]
    assert orders[0].created_at.isoformat() == "2024-05-06T07:08:09+00:00"
    assert orders[0].processed_at.isoformat() == "2024-05-05T00:00:00+00:00"
    assert orders[2].processed_at == orders[2].created_at
    assert make_order(shop).name == "#1503"


def test_a_name_that_is_taken_is_not_given_twice(shop: Shop, tmp_path: Path) -> None:
    make_order(shop)
    import_and_get_orders(
        shop, tmp_path, {"name": "#1001"}, {"name": "SE-7"}, {"name": "#1001", "id": 9}, {"name": "x" * 65}
    )
    orders = import_and_get_orders(shop, tmp_path, {"name": "SE-7", "id": 10}, {"name": "#9999999999"}, name="b.jsonl")

    names = ["#1001", "#1002", "SE-7", "#1004", "#1005", "#1006", "#9999999999"]
    assert [order.name for order in orders] == names
    assert [order.number for order in orders] == list(range(1, 8))
    assert get_row_results(shop)[0][2] == "the name #1001 is already taken"


def test_a_date_that_is_none_or_to_come_is_refused(shop: Shop, tmp_path: Path) -> None:
    assert import_and_get_orders(shop, tmp_path, {"created_at": "soon"}, {"created_at": "2999-01-01"}) == []
    reasons = [reason.removeprefix("created_at ") for _, _, reason in get_row_results(shop)]
    assert reasons == ["is invalid: 'soon'", "must not be in the future"]


@pytest.mark.parametrize(
    ("rows", "message", "remaining"),
    [
        ([("fulfilled", 0), (None, 3)], ("partial", "partial"), [0, 3]),
        ([("partial", 2), (None, 3)], (None, "partial"), [2, 3]),
        ([("fulfilled", None), ("fulfilled", 0)], ("fulfilled", "fulfilled"), [0, 0]),
        ([(None, 3), (None, 3)], ("fulfilled", "fulfilled"), [0, 0]),
    ],
)
def test_orders_that_were_partly_sent_come_in(
    shop: Shop, tmp_path: Path, rows: list[Any], message: tuple[str | None, str], remaining: list[int]
) -> None:
    line = {"title": "a", "price": "1.00", "quantity": 3}
    items = [{**line, "fulfillment_status": word, "fulfillable_quantity": units} for word, units in rows]

    [order] = import_and_get_orders(shop, tmp_path, {"fulfillment_status": message[0], "line_items": items})

    assert list(order.line_items.values_list("fulfillable_quantity", flat=True)) == remaining
    assert [row.fulfilled_quantity for row in order.line_items.all()] == [3 - units for units in remaining]
    assert order.fulfillment_status == message[1]


@pytest.mark.parametrize(
    ("status", "line", "reason"),
    [
        ("partial", {}, "fulfillment_status is not included in the list"),
        ("fulfilled", {"fulfillment_status": "partial", "fulfillable_quantity": 1}, "does not match"),
        ("partial", {"fulfillment_status": "partial", "fulfillable_quantity": 7}, "fulfillable_quantity is invalid"),
        ("partial", {"fulfillment_status": "partial"}, "must contain the unfulfilled quantity of partially fulfilled"),
        ("partial", {"fulfillment_status": "partial", "fulfillable_quantity": "x"}, "must contain the unfulfilled"),
    ],
)
def test_fulfilled_quantities_must_add_up(shop: Shop, tmp_path: Path, status: str, line: Attrs, reason: str) -> None:
    items = [{"title": "a", "price": "1.00", "quantity": 3, **line}]

    assert import_and_get_orders(shop, tmp_path, {"fulfillment_status": status, "line_items": items}) == []
    assert reason in get_row_results(shop)[0][2]


def get_planner_count(table: str) -> int:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT reltuples FROM pg_class WHERE relname = %s", [table])
            return int(cursor.fetchone()[0])
        if "sqlite_stat1" not in connection.introspection.table_names(cursor):
            return 0
        cursor.execute("SELECT stat FROM sqlite_stat1 WHERE tbl = %s", [table])
        return max((int(stat.split()[0]) for (stat,) in cursor.fetchall()), default=0)


def test_the_planner_knows_what_a_large_import_brought(shop: Shop, tmp_path: Path) -> None:
    rows = [{"customer": {"email": f"p{number}@example.com"}} for number in range(120)]

    import_text(shop, to_json_lines(*rows), tmp_path)

    assert get_planner_count("customers_customer") >= 120


def test_the_planner_knows_the_demo_shop(
    db: None, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path
    # The other parts of the demo are slow to create and are tested elsewhere.
    monkeypatch.setattr(demo, "create_demo_data", load_demo_customers)

    call_command("demo", stdout=io.StringIO())

    with all_shops_scope():
        assert get_planner_count("customers_customer") == Customer.objects.count() > 0


# --- audit log --------------------------------------------------------------------------------------------------------


def test_an_import_is_recorded_as_what_it_is(shop: Shop, tmp_path: Path) -> None:
    import_text(shop, to_json_lines({"customer": ADA}), tmp_path)

    events = Event.objects.filter(subject_type="imports_exports.import").order_by("pk")
    assert list(events.values_list("topic", flat=True)) == ["imports/upload", "imports/finish"]


@pytest.mark.parametrize(("dry", "words"), [(True, "Would be"), (False, "Done")])
def test_the_command_exits_with_an_error_where_rows_fail(shop: Shop, tmp_path: Path, dry: bool, words: str) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(to_json_lines({"customer": ADA}, {"customer": {"email": "no"}}))
    out = io.StringIO()

    with pytest.raises(CommandError, match=r"^1 row failed\.$") as failed:
        call_command("import_orders", str(path), shop=shop.domain, stdout=out, dry_run=dry)

    assert failed.value.returncode == 1
    assert f"{words}: 1 new, 0 changed, 0 skipped, 1 failed." in out.getvalue()
