import csv
import io
import json
from collections.abc import Generator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from apps.core.events.models import Event
from apps.core.jobs import queue as jobs
from apps.core.jobs.models import Job
from apps.core.jobs.periodic_tasks import Every
from apps.core.sanitizing import SafeCsvWriter, escape_formula
from apps.core.tenancy.models import Shop, User
from apps.core.types import Attrs
from apps.customers.models import Customer
from apps.imports_exports.domain import dry_run, exports, imports, runner
from apps.imports_exports.domain.csv_reader import open_table, remove_guard
from apps.imports_exports.models import Export, Import, ImportedRow
from apps.orders.domain.transitions import cancel_order
from apps.orders.domain.updates import delete_order
from apps.orders.models import Order
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.factories.orders import make_order
from tests.support.files.import_export import export_text, get_row_results, import_file, import_text, to_json_lines
from tests.support.periodic import run_periodic_tasks

pytestmark = pytest.mark.usefixtures("media_root", "in_shop")

Fate = ImportedRow.Fate
ORDER: Attrs = {"line_items": [{"title": "a", "price": "1.00"}]}
RISKY = ["=1+1", "+1+1", "+", "-1 day", "@A", "\t=1", "\r=1", "\n=1", "＝1", " =1", "'=1", "''=1", "|calc", "%1"]


@pytest.fixture
def user(shop: Shop) -> User:
    return factories.make_member(shop, "orders", "export_orders", "export_customers")


@pytest.mark.parametrize("text", RISKY)
def test_risky_cells_open_as_text_and_come_back(text: str) -> None:
    file = io.StringIO()
    SafeCsvWriter(file, ["note", "amount"]).write({"note": text, "amount": "-5.00"})

    assert list(csv.reader(io.StringIO(file.getvalue())))[1] == [f"'{text}", "-5.00"]
    assert next(open_table(io.StringIO(file.getvalue())).rows)[1] == [text, "-5.00"]


@pytest.mark.parametrize("stays", ["+14155550100", "'+14155550100"])
def test_phone_numbers_are_exported_unchanged_and_imported_with_or_without_apostrophe(stays: str) -> None:
    file = io.StringIO()
    SafeCsvWriter(file, ["phone", "amount"]).write({"phone": "+14155550100", "amount": "-5.00"})

    assert file.getvalue().splitlines()[1] == "+14155550100,-5.00"
    assert next(open_table(io.StringIO(f"phone\n{stays}\n")).rows)[1] == ["+14155550100"]


@given(st.text())
def test_every_cell_comes_back(text: str) -> None:
    assert remove_guard(str(escape_formula(text))) == text


def test_an_order_comes_again_only_after_its_deletion(shop: Shop, tmp_path: Path) -> None:
    text = to_json_lines({"order": {"id": 77, "email": "ada@example.com", **ORDER}})
    import_text(shop, text, tmp_path)
    more = text + to_json_lines({"customer": {"email": "x@example.com"}})

    again = import_text(shop, more, tmp_path, "again.jsonl")
    source = Order.objects.get().source_identifier
    delete_order(Order.objects.get(), actor="system", at=timezone.now())
    tried = import_text(shop, text, tmp_path, dry_run=True)
    restored = import_text(shop, text, tmp_path)

    assert (again, source) == ("Done: 1 new, 0 changed, 1 skipped, 0 failed.\n", "77")
    assert "1 new" in tried
    assert restored == "Done: 1 new, 0 changed, 0 skipped, 0 failed.\n"
    assert "1 skipped" in import_text(shop, text, tmp_path)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_tables_of_every_spreadsheet_come_in(shop: Shop, tmp_path: Path, separator: str) -> None:
    head = ["order", "email", "note", "line_title", "line_price"]
    file = io.StringIO()
    csv.writer(file, delimiter=separator).writerows([head, ["#7", "ada@example.com", "a,b;c\td", "Mug", "9.50"]])

    report = import_text(shop, "\ufeff" + file.getvalue(), tmp_path, "in.csv")

    assert report == "Done: 1 new, 0 changed, 0 skipped, 0 failed.\n"
    order = Order.objects.get()
    assert (order.total_price, order.note) == (Decimal("9.50"), "a,b;c\td")


def test_unreadable_table_rows_do_not_stop_the_import(shop: Shop, tmp_path: Path) -> None:
    long = b"x" * 1_100_000
    content = b"\n".join(
        [
            b"email,note",
            "ada@example.com,gütig".encode(),
            "bo@example.com,caf\xe9".encode("latin-1"),
            b"cy@example.com," + long,
            b'dan@example.com,"' + b"\n".join([long[:600_000]] * 2) + b'"',
            b"eve@example.com,a,b",
            b"fay@example.com,good",
        ]
    )
    path = tmp_path / "in.csv"
    path.write_bytes(content)
    import_file(shop, path)

    results = {line: reason for line, fate, reason in get_row_results(shop) if fate == "failed"}
    assert (results[3], results[4]) == ("is not UTF-8", "is longer than 1048576 characters")
    assert results[7] == "has 3 cells, but the file has 2 columns"
    assert set(Customer.objects.values_list("email", flat=True)) == {"ada@example.com", "fay@example.com"}


def test_an_order_with_separated_rows_is_reported(shop: Shop, tmp_path: Path) -> None:
    rows = "#1,Mug,1.00\n#2,Jug,1.00\n#1,Cup,1.00\n" + "#3,Bead,1.00\n" * 501 + "#4,Pot,1.00\n"

    import_text(shop, f"order,line_title,line_price\n{rows}", tmp_path, "in.csv")

    assert [(line, reason) for line, fate, reason in get_row_results(shop) if fate == "failed"] == [
        (4, "order #1 also occurs earlier in the file. Move its rows next to each other"),
        (5, "order #3 has more than 500 rows"),
    ]
    assert list(Order.objects.order_by("pk").values_list("source_identifier", flat=True)) == ["#1", "#2", "#4"]


@pytest.mark.parametrize("junk", [5, "x", [5], ["x"], [{"code": [1]}], {"a": 1}, [{"code": "P"}]])
@pytest.mark.parametrize(
    "position", ["discount_applications", "discount_codes", "addresses", "transactions", "line_items"]
)
def test_junk_in_a_row_fails_that_row_alone(shop: Shop, tmp_path: Path, position: str, junk: object) -> None:
    order = {**ORDER, "id": 1}
    code = {"code": "P", "amount": "1", "type": "percentage"}
    text = to_json_lines(
        {"order": {**order, "discount_codes": [code], position: junk}},
        {"order": {**order, "discount_codes": [{**code, "code": junk}], "id": 2}},
        {"customer": {"email": "ada@example.com", position: junk}},
        {"order": {**order, "id": 3}},
    )

    import_text(shop, text, tmp_path, ignore_unknown=True)

    assert [(line, fate) for line, fate, _ in get_row_results(shop)][-1] == (4, "new")


def test_bad_rows_are_reported_and_stop_nothing(shop: Shop, tmp_path: Path) -> None:
    blue = {"customer": {"email": "ada@example.com", "note": "Likes blue"}}
    text = (
        to_json_lines({"customer": {"first_name": "Ada", "email": "ada@example.com"}})
        + "{nonsense\n\n"
        + to_json_lines(
            {"customer": {"email": "nobody"}},
            {"thing": {}},
            {"order": {"line_items": [{"title": "a", "price": "1.005"}]}},
            {"order": {**ORDER, "total_price": "2.00", "id": 2}},
            {"order": {**ORDER, "financial_status": "refunded", "id": 3}},
            *[blue] * 2,
        )
    )

    report = import_text(shop, text, tmp_path)

    row_results = get_row_results(shop)
    assert [line for line, _, _ in row_results] == [1, 2, *range(4, 11)]
    assert [fate for _, fate, _ in row_results] == ["new", *["failed"] * 6, "changed", "skipped"]
    reasons = {line: reason for line, _, reason in row_results}
    assert reasons[2].startswith("is not valid JSON")
    assert (reasons[4], reasons[6]) == ("email is invalid", "line_items.0.price is invalid: '1.005'")
    assert reasons[7] == "total_price must be 1.00"
    assert reasons[8].startswith("financial_status requires matching transactions")
    assert "line 7: failed – total_price must be 1.00" in report
    assert Customer.objects.get().note == "Likes blue"
    assert not Order.objects.exists()


def test_a_dry_run_shows_every_fate_and_leaves_nothing(shop: Shop, tmp_path: Path) -> None:
    order = {"order": {"id": 1, "email": "ada@example.com", **ORDER}}
    text = to_json_lines(order, order, {"customer": {"first_name": "Bo"}}, {"customer": {}})

    report = import_text(shop, text, tmp_path, dry_run=True)

    assert report.splitlines() == [
        "line 1: new",
        "line 2: skipped – occurs earlier in the file",
        "line 3: new",
        "line 4: failed – customer must have a name or email address",
        "Would be: 2 new, 0 changed, 1 skipped, 1 failed.",
    ]
    for model in (Order, Customer, Import):
        assert not model.objects.exists()
    assert not Event.objects.filter(topic__in=("orders/create", "customers/create")).exists()
    assert not list((tmp_path / "m").rglob("*.jsonl"))


def test_abandoned_files_are_deleted(tmp_path: Path) -> None:
    def keep(name: str) -> Import:
        return imports.save_upload(io.BytesIO(name.encode()), f"{name}.jsonl", actor="system", at=timezone.now())

    old, reloaded = keep("old"), keep("fresh")
    Import.objects.filter(pk=old.pk).update(state=Import.State.CHECKED, updated_at=timezone.now() - timedelta(days=8))
    run_periodic_tasks(Every.HOUR)

    assert not default_storage.exists(old.path)
    assert default_storage.exists(reloaded.path)
    old.refresh_from_db()
    assert (old.state, old.problem) == ("failed", "The file was deleted after 7 days without activity.")
    with pytest.raises(imports.ImportNotValidated):
        imports.start_import(old, actor="system", at=timezone.now())


def test_an_interrupted_import_continues(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "BATCH_SIZE", 1)
    rows = [{"order": {"line_items": [{"title": f"a{n}", "price": "1.00"}]}} for n in range(5)]
    path = tmp_path / "in.jsonl"
    path.write_text(to_json_lines(*rows))
    with path.open("rb") as file:
        import_job = imports.save_upload(file, "in.jsonl", actor="system", at=timezone.now())
    imports.skip_validation(import_job)
    started = runner.run_import(import_job)
    assert isinstance(started, Generator)
    for _ in range(3):
        next(started)
    started.close()
    assert Order.objects.count() == 3

    report = import_text(shop, path.read_text(), tmp_path)

    assert report == "Done: 2 new, 0 changed, 0 skipped, 0 failed.\n"
    assert Order.objects.count() == 5
    assert Import.objects.get().state == Import.State.DONE
    assert not default_storage.exists(import_job.path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("in.csv", b"", "is empty"),
        ("in.xls", b"x", "must end in .csv, .xlsx or .jsonl"),
        ("in.xlsx", b"x", "can't be read as an .xlsx workbook"),
        ("in.csv", b"a,a\n1,2\n", "must be unique"),
        ("in.csv", b"email,\xff\na,b\n", "not UTF-8"),
        ("in.csv", "email\nada@example.com\n".encode("utf-16") + b"\0", "marked as UTF-16"),
        ("in.csv", b"Name;Total\n#1;2\n", "contains no known column"),
        ("in.csv", b"x" * 2_000_000, "longer than"),
    ],
)
def test_files_that_are_none_are_refused(shop: Shop, tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises(CommandError, match=message):
        call_command("import_orders", str(path), shop=shop.domain)


def test_customers_come_in_as_csv(shop: Shop, tmp_path: Path) -> None:
    text = "first_name,email,city,country,accepts_marketing,tags\nAda,ada@example.com,Lund,Sweden,yes,'=vip\n,,,,,\n"

    report = import_text(shop, text, tmp_path, "in.csv")

    assert report.startswith("Done: 1 new, 0 changed, 0 skipped, 0 failed")
    customer = Customer.objects.get()
    assert customer.default_address is not None
    assert (customer.default_address.city, customer.default_address.country_code) == ("Lund", "SE")
    assert (customer.email_marketing_state, customer.tags) == ("subscribed", "=vip")


def test_a_customer_comes_back_whole(api: ApiClient, other_shop_api: ApiClient, user: User, tmp_path: Path) -> None:
    streets = [f"Street {number}" for number in range(12)]
    body = {
        "email": "ada@example.com",
        "phone": "+46812345678",
        "multipass_identifier": "m-1",
        "tax_exemptions": ["EU_REVERSE_CHARGE_EXEMPTION_RULE"],
        "email_marketing_consent": {"state": "subscribed", "opt_in_level": "confirmed_opt_in"},
        "sms_marketing_consent": {"state": "subscribed", "consent_collected_from": "WEB"},
        "addresses": [{"address1": street, "country": "Sweden", "province": "Skåne"} for street in streets],
    }
    pk = api.post("customers.json", {"customer": body}).json()["customer"]["id"]
    rows = api.get(f"customers/{pk}/addresses.json").json()["addresses"]
    api.put(f"customers/{pk}/addresses/{rows[5]['id']}/default.json")
    texts = ("id", "customer_id", "created_at", "updated_at", "default_address", "addresses", "admin_graphql_api_id")

    file = export_text(api.installation.shop, user, "customers", "jsonl")
    import_text(other_shop_api.installation.shop, file, tmp_path)

    before = api.get("customers.json").json()["customers"][0]
    after = other_shop_api.get("customers.json").json()["customers"][0]
    moved = other_shop_api.get(f"customers/{after['id']}/addresses.json").json()["addresses"]
    assert {name: value for name, value in after.items() if name not in texts and "consent" not in name} == {
        name: value for name, value in before.items() if name not in texts and "consent" not in name
    }
    for channel in ("email_marketing_consent", "sms_marketing_consent"):
        assert after[channel]["consent_updated_at"]
        assert after[channel] | {"consent_updated_at": ""} == before[channel] | {"consent_updated_at": ""}
    assert after["default_address"]["address1"] == "Street 5"
    assert sorted(row["address1"] for row in moved) == sorted(streets)
    assert [row["address1"] for row in after["addresses"]][:6] == streets[:5:-1]


def test_a_known_customer_is_compared_as_it_is_kept(shop: Shop, tmp_path: Path) -> None:
    import_text(shop, to_json_lines({"customer": {"email": "ada@example.com", "phone": "+14155550123"}}), tmp_path)
    same = {"customer": {"email": " ADA@example.com", "phone": "(415) 555-0123", "tags": "", "note": None}}
    agreed = {"customer": {"email": "ada@example.com", "accepts_marketing": True}}
    refused = {"customer": {"email": "ada@example.com", "phone": "12"}}

    import_text(shop, to_json_lines(same, agreed, agreed, refused), tmp_path, "again.jsonl")

    second_rows = ImportedRow.objects.filter(file__name="again.jsonl").order_by("line").values_list("fate", "reason")
    assert [fate for fate, _ in second_rows] == ["skipped", "changed", "skipped", "failed"]
    assert second_rows[3][1] == "phone is invalid"
    assert Customer.objects.get().email_marketing_state == "subscribed"


ODD = [5, "x", "", [], {}, [5], [[]], [{}], None, True, {"a": {"b": 1}}, -1, 1.5, [None], "x" * 6000, [{"id": 1}]]
CUSTOMER = ("email", "phone", "tags", "tax_exempt", "tax_exemptions", "sms_marketing_consent", "addresses")
MEMBERS = (
    "line_items",
    "customer",
    "transactions",
    "discount_codes",
    "discount_applications",
    "shipping_lines",
    "note",
)


@pytest.mark.parametrize("name", [*CUSTOMER, *MEMBERS, "billing_address", "cancelled_at", "processed_at", "currency"])
def test_bad_values_of_a_row_do_not_stop_later_rows(shop: Shop, tmp_path: Path, name: str) -> None:
    order = {"email": "ada@example.com", **ORDER}
    rows: list[Attrs] = [
        {"customer": {"first_name": "Ada", name: odd}} if name in CUSTOMER else {"order": {**order, "id": n, name: odd}}
        for n, odd in enumerate(ODD, 1)
    ]

    import_text(shop, to_json_lines(*rows, {"customer": {"email": "last@example.com"}}), tmp_path)

    row_results = get_row_results(shop)
    assert [line for line, _, _ in row_results] == list(range(1, len(ODD) + 2))
    assert row_results[-1][1] == Fate.NEW


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["customers"], {"customers": "new", "orders": "failed"}),
        (["edit_orders"], {"customers": "failed", "orders": "new"}),
        (["customers", "edit_orders"], {"customers": "new", "orders": "new"}),
        ([], {"customers": "failed", "orders": "failed"}),
    ],
)
def test_staff_import_only_what_they_may_make(shop: Shop, names: list[str], message: dict[str, str]) -> None:
    member = factories.make_member(shop, *names)
    text = to_json_lines({"customer": {"first_name": "Ada"}}, {"order": ORDER})
    import_job = imports.save_upload(
        io.BytesIO(text.encode()), "in.jsonl", actor=f"staff:{member.pk}", at=timezone.now()
    )
    checked = {row.kind: outcome.result for row, outcome in dry_run.validate_file(import_job)}
    imports.skip_validation(import_job)
    results_by_kind = {row.kind: outcome.result for row, outcome in runner.run_import(import_job)}

    assert checked == results_by_kind == message
    assert Customer.objects.exists() is (message["customers"] == "new")


def test_the_worker_checks_and_after_a_yes_imports(shop: Shop, tmp_path: Path) -> None:
    text = to_json_lines({"customer": {"email": "a@example.com"}}, {"customer": {"email": "no"}})
    import_job = imports.save_upload(io.BytesIO(text.encode()), "in.jsonl", actor="system", at=timezone.now())
    imports.enqueue_validation(import_job, actor="system")
    with pytest.raises(imports.ImportNotValidated):
        imports.start_import(import_job, actor="system", at=timezone.now())
    _run(shop, imports.VALIDATE_TASK)
    import_job.refresh_from_db()
    assert (import_job.state, import_job.total, Customer.objects.count()) == ("checked", 2, 0)
    assert list(import_job.fates.values_list("fate", flat=True)) == ["new", "failed"]
    imports.start_import(import_job, actor="system", at=timezone.now())
    _run(shop, imports.RUN_TASK)
    import_job.refresh_from_db()
    assert (import_job.state, Customer.objects.count()) == ("done", 1)
    assert not import_job.fates.filter(dry=True).exists()
    with pytest.raises(imports.ImportNotValidated):
        imports.start_import(import_job, actor="system", at=timezone.now())


def _run(shop: Shop, task: str) -> None:
    key = Job.objects.get(task=task).key
    assert jobs.run_job(key)


def test_exports_honour_filters_expire_and_are_recorded(shop: Shop, user: User) -> None:
    make_order(shop, financial_status="paid")
    cancel_order(make_order(shop), actor="system", at=timezone.now(), reason="fraud")
    exported = export_text(shop, user, "orders", "jsonl", status="cancelled")

    assert [json.loads(line)["order"]["cancel_reason"] for line in exported.splitlines()] == ["fraud"]
    export = Export.objects.get()
    now = timezone.now()
    assert export.is_downloadable_by(user.pk, now)
    assert not export.is_downloadable_by(user.pk + 1, now)
    assert not export.is_downloadable_by(user.pk, now + timedelta(days=3))
    exports.expire_export(Job(), export_id=export.pk)
    assert not default_storage.exists(export.path)
    assert Event.objects.filter(topic="orders/export").count() == 1
