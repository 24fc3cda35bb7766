import csv
import io
import re
from datetime import UTC, datetime
from html import unescape
from typing import Any

import orjson
import pytest
from django.utils import timezone
from time_machine import TimeMachineFixture

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop, User
from apps.customers.models import Customer
from apps.imports_exports.domain import exports, imports
from apps.imports_exports.models import Export, Import
from apps.orders.models import Order
from tests.support import factories
from tests.support.api_client import ApiClient, Response
from tests.support.databases.event_triggers import drop_event_triggers
from tests.support.factories.catalog import make_product
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith, read_stream
from tests.support.panel.pages import run_latest_job, upload_file
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("media_root", "in_shop")

NEW = "imports_exports_export_new"


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("customers", "export_orders")


def make_export(panel: Panel, **fields: str) -> Export:
    panel.post(NEW, form_key=panel.form_key(NEW), **{"kind": "orders", "format": "csv", **fields})
    run_latest_job(panel.shop, exports.EXPORT)
    return Export.objects.latest("pk")


def test_an_export_is_made_and_fetched_by_the_same_person(
    panel: Panel, admin_client_with: PanelWith, shop: Shop
) -> None:
    make_order(shop, note="=1+1")
    export = make_export(panel)
    link = panel.get("imports_exports_export_change", export.pk).context["link"]
    text = read_stream(panel.http.get(link)).decode()

    assert "#1001" in text
    assert "'=1+1" in text
    assert admin_client_with("export_orders").http.get(link).status_code == 404
    assert panel.get("imports_exports_export_file", export.pk, "x" * 43).status_code == 404
    assert panel.get("imports_exports_export_changelist").status_code == 200


def test_exports_have_the_shops_time(
    admin_client_with: PanelWith, shop: Shop, time_machine: TimeMachineFixture
) -> None:
    Shop.objects.filter(pk=shop.pk).update(timezone="Pacific/Auckland")
    time_machine.move_to(datetime(2031, 5, 5, 14, 33, tzinfo=UTC), tick=False)
    panel = admin_client_with("export_orders", "staff_audit_log_view")
    export = make_export(panel)

    titles = {}
    for language in ("en", "de"):
        User.objects.filter(pk=panel.user.pk).update(language=language)
        file = panel.get("imports_exports_export_change", export.pk)
        log = panel.get("events_event_changelist").content.decode()
        titles[language] = file.context["title"]
        assert titles[language] in log

    assert titles == {"en": "Orders of 6 May 2031, 02:33", "de": "Bestellungen vom 6. Mai 2031, 02:33"}
    fetched = panel.http.get(file.context["link"])
    assert "#" not in read_stream(fetched).decode()
    assert "orders-2031-05-06.csv" in fetched["Content-Disposition"]
    assert Event.objects.get(topic="orders/export").subject_label == "Orders of 2031-05-05 14:33"


def test_the_summary_says_what_an_export_will_contain(owner_client: Panel, shop: Shop) -> None:
    make_order()
    make_order()
    assert owner_client.get(NEW, kind="orders").context["summary"].title == "2 orders"
    assert owner_client.get(NEW, kind="orders").context["title"] == "Export orders"
    assert [*owner_client.get(NEW, kind="products").context["form"].fields] == ["kind", "format"]
    assert owner_client.get(NEW).context["title"] == "New export"

    values = {"kind": "orders", "format": "xlsx", "until": "2020-12-03"}
    summary = owner_client.post(NEW, step="summary", **values).context["summary"]

    assert summary.title == "0 orders"
    assert summary.terms == ["End date: 3 Dec 2020", "Excel workbook (.xlsx)"]
    assert not Export.objects.exists()


def test_exports_need_the_permission_of_their_rows(panel: Panel) -> None:
    export = make_export(panel)

    panel.user.memberships.update(permissions=["export_customers"])
    assert panel.get("imports_exports_export_file", export.pk, export.key).status_code == 403


@pytest.mark.parametrize("kind", ["customers", "orders"])
def test_a_list_exports_what_is_chosen_or_found(admin_client_with: PanelWith, shop: Shop, kind: str) -> None:
    orders = [make_order(shop, email=f"{name}@example.com") for name in ("ada", "adam", "bob")]
    ids = [order.pk if kind == "orders" else order.customer_id for order in orders]
    panel = admin_client_with(kind, f"export_{kind}")
    address = panel.url(f"{kind}_{kind[:-1]}_changelist")
    lacking = admin_client_with(kind)

    def sent(who: Panel, query: str = "", **fields: object) -> Response:
        return who.http.post(f"{address}{query}", {"action": "export_selected", "_selected_action": ids[:1], **fields})

    selected, found, refused = sent(panel), sent(panel, "?q=ada", select_across="1"), sent(lacking)

    rows = [list(exports.get_rows(export).values_list("pk", flat=True)) for export in Export.objects.order_by("pk")]
    topic = {"customers": "customers/export_list", "orders": "orders/export"}[kind]
    assert Event.objects.filter(topic=topic).latest("pk").changes["filters"] == [None, {"ids": 2}]
    assert Event.objects.filter(topic__contains="/export").exclude(topic=topic).count() == 0
    assert rows == [ids[:1], ids[:2]]
    assert "/imports_exports/export/" in selected["Location"]
    assert found.status_code == 302
    assert "/imports_exports/export/" not in refused.get("Location", "")
    assert b"export_selected" not in lacking.http.get(address).content


def export_from_list(panel: Panel, page: str, **query: str) -> tuple[Any, list[int]]:
    """Submit the unchanged form behind a list's *Export…* button; return the form and the exported rows."""
    link = re.search(r'href="([^"]*/export/new/[^"]*)"', panel.get(page, **query).content.decode())
    assert link is not None
    address = unescape(link[1])
    form = panel.http.get(address).context["form"]
    payload = {name: form[name].value() or {"format": "csv"}.get(name, "") for name in form.fields}
    panel.http.post(address, {**payload, "form_key": panel.form_key(NEW)})
    run_latest_job(panel.shop, exports.EXPORT)
    export = Export.objects.latest("pk")
    rows = list(exports.get_rows(export).values_list("pk", flat=True))
    assert export.row_count == len(rows)
    return form, rows


def test_a_list_that_something_narrows_exports_what_it_shows(owner_client: Panel, shop: Shop) -> None:
    hats = [make_product(title=f"Hat {number}", vendor="Acme & Co = x").pk for number in range(2)]
    make_product(title="Scarf", vendor="Acme & Co = x")
    orders = [make_order(shop, email=f"{name}@example.com") for name in ("ada", "adam", "bob")]
    Order.objects.filter(pk=orders[1].pk).update(status="closed", closed_at=timezone.now())

    form, rows = export_from_list(owner_client, "catalog_product_changelist", q="hat", vendor="Acme & Co = x")
    opened, opened_rows = export_from_list(owner_client, "orders_order_changelist")
    _, customers = export_from_list(owner_client, "customers_customer_changelist", q="ada", o="-1")
    everything, all_rows = export_from_list(owner_client, "orders_order_changelist", view="all", o="1")

    assert rows == hats
    assert form.fields["rows"].choices == [("matching", "Current list: 2"), ("all", "All products")]
    assert form.fields["rows"].help_text == "Search: “hat” · Vendor: Acme & Co = x"
    assert (opened_rows, opened.fields["rows"].help_text) == ([orders[0].pk, orders[2].pk], "Open")
    assert customers == [orders[0].customer_id, orders[1].customer_id]
    assert (everything["kind"].value(), all_rows) == ("orders", [order.pk for order in orders])


def test_orders_are_exported_by_their_dates(owner_client: Panel, shop: Shop) -> None:
    orders = [make_order(shop, email=f"{name}@example.com").pk for name in ("ada", "bob", "cleo")]
    for day, pk in enumerate(orders, 4):
        Order.objects.filter(pk=pk).update(processed_at=datetime(2031, 5, day, 23, tzinfo=shop.tzinfo))
    values = {"kind": "orders", "format": "jsonl", "since": "2031-05-05", "until": "2031-05-05"}

    owner_client.http.post(owner_client.url(NEW), {"form_key": owner_client.form_key(NEW), **values})
    run_latest_job(shop, exports.EXPORT)

    export = Export.objects.get()
    assert [row.pk for row in exports.get_rows(export)] == [orders[1]]
    assert export.row_count == 1
    link = owner_client.url("imports_exports_export_file", export.pk, export.key)
    assert f'href="{link}"' in owner_client.get("imports_exports_export_changelist").content.decode()


def test_exporting_everything_is_an_option_besides_the_list(owner_client: Panel, shop: Shop) -> None:
    orders = [make_order(shop, email=f"{name}@example.com") for name in ("ada", "bob")]
    page = f"{owner_client.url(NEW)}?kind=orders&list=q%3Dada"

    owner_client.http.post(page, {"form_key": owner_client.form_key(NEW), "rows": "all", "format": "jsonl"})

    assert list(exports.get_rows(Export.objects.get())) == orders


def test_a_list_that_cannot_be_fully_exported_says_so(
    owner_client: Panel, shop: Shop, admin_client_with: PanelWith, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ada", "adam", "bob"):
        make_order(shop, email=f"{name}@example.com")

    def form(query: str) -> Any:
        return owner_client.get(NEW, kind="orders", list=query).context["form"].fields["rows"]

    nothing = form("q=eve")
    monkeypatch.setattr(exports, "MAX_SELECTED", 1)
    many_rows = form("q=ada")
    monkeypatch.setattr("apps.core.admin.lists.selection.MAX_COUNTED_ROWS", 2)
    searched = form("q=ada")

    assert [value for value, _ in many_rows.choices] == [value for value, _ in nothing.choices] == ["all"]
    assert nothing.help_text == "No rows are selected. Select at least one row."
    assert many_rows.help_text == "The list has more than 1 rows. Filter it first."
    assert searched.help_text.startswith("The search matches more than 2 rows")
    assert owner_client.get(NEW, kind="orders", list="processed_at__gte=x").status_code == 404
    assert admin_client_with("export_orders").get(NEW, kind="orders", list="q=ada").status_code == 403


def test_selected_rows_are_exported_in_batches(
    owner_client: Panel, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "BATCH", 2)
    ids = [make_order(shop, email="ada@example.com").pk for _ in range(5)]
    request: Any = {"kind": "orders", "format": "jsonl", "user": owner_client.user, "actor": "system"}
    export = exports.create_export(filters={"ids": ids}, at=timezone.now(), **request)
    Order.objects.filter(pk=ids[1]).delete()

    run_latest_job(shop, exports.EXPORT)

    link = owner_client.get("imports_exports_export_change", export.pk).context["link"]
    lines = read_stream(owner_client.http.get(link)).splitlines()
    assert [orjson.loads(line)["order"]["id"] for line in lines] == [ids[0], *ids[2:]]


def test_exports_need_the_permission_of_their_kind(admin_client_with: PanelWith) -> None:
    clerk = admin_client_with("export_customers")

    page = clerk.get(NEW)
    response = clerk.post(NEW, form_key=page.context["form_key"], kind="orders", format="csv")

    assert [value for value, _ in page.context["form"].fields["kind"].choices] == ["customers"]
    assert response.status_code == 200
    assert not Export.objects.exists()


def test_an_import_is_checked_confirmed_and_reported(panel: Panel, shop: Shop) -> None:
    content = b'{"customer": {"email": "ada@example.com"}}\n{"customer": {"email": "<b>no</b>"}}\n'

    upload_file(panel, content)
    pk = Import.objects.get().pk
    run_latest_job(shop, imports.VALIDATE_TASK)
    checked = panel.get("imports_exports_import_change", pk)
    assert not Customer.objects.exists()
    panel.post("imports_exports_import_confirm", pk, form_key=checked.context["form_key"])
    run_latest_job(shop, imports.RUN_TASK)
    response = panel.get("imports_exports_import_change", pk)
    report = panel.get("imports_exports_import_report", pk)

    assert checked.context["counts"] == [("New", 1), ("Changed", 0), ("Skipped", 0), ("Failed", 1)]
    assert b"Import 1 row" in checked.content
    assert response.context["counts"] == checked.context["counts"]
    assert b"Field email: is invalid." in response.content
    assert b"2,failed,Field email: is invalid.,customers,<b>no</b>" in read_stream(report)
    assert Customer.objects.count() == 1


def test_files_that_are_none_come_back_with_the_reason(panel: Panel, shop: Shop) -> None:
    refused = upload_file(panel, b"x", "in.xls")
    upload_file(panel, b"a,a\n1,2\n", "in.csv")
    run_latest_job(shop, imports.VALIDATE_TASK)

    assert b"must end in .csv, .xlsx or .jsonl" in refused.content
    problem = "Each column name in the first line must be unique."
    assert Import.objects.values_list("state", "problem").get() == ("failed", problem)
    assert panel.get("imports_exports_import_changelist").status_code == 200


def export_audit_log(panel: Panel, **fields: str) -> str:
    url = panel.url(NEW) + "?kind=events"
    key = panel.http.get(url).context["form_key"]
    response = panel.http.post(url, {"form_key": key, "format": "csv", **fields})
    assert response.status_code == 302, response.context["form"].errors
    run_latest_job(panel.shop, exports.EXPORT)
    export = Export.objects.latest("pk")
    return read_stream(panel.http.get(panel.url("imports_exports_export_file", export.pk, export.key))).decode()


@pytest.fixture
def audit_client(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("staff_audit_log_view")


def test_the_audit_log_is_exported_as_a_safe_table(audit_client: Panel, shop: Shop, other_shop: Shop) -> None:
    make_order(shop, note="x")
    factories.make_installation(shop, name="=HYPERLINK(1)")
    factories.make_installation(other_shop, name="Elsewhere")

    text = export_audit_log(audit_client)

    rows = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))
    assert [row["topic"] for row in rows][-1] == "audit_log/export"
    assert {row["about"] for row in rows} >= {"#1001", "'=HYPERLINK(1)"}
    assert (rows[-1]["who"], rows[-1]["actor"]) == (str(audit_client.user), f"staff:{audit_client.user.pk}")
    assert orjson.loads(rows[-1]["changes"])["kind"] == [None, "events"]
    assert "Elsewhere" not in text


def test_the_audit_log_goes_out_as_json_lines(audit_client: Panel, shop: Shop) -> None:
    factories.make_installation(shop, name="=Reviews")

    events = [orjson.loads(line)["event"] for line in export_audit_log(audit_client, format="jsonl").splitlines()]

    assert [event["about"] for event in events if event["topic"] == "app/installed"] == ["=Reviews"]
    assert events[-1]["changes"]["kind"] == [None, "events"]
    assert [event["id"] for event in events] == sorted(event["id"] for event in events)


@pytest.mark.parametrize(
    ("filtered", "stays"),
    [
        ({"topic": "app/installed"}, True),
        ({"topic": "audit_log/export"}, False),
        ({"who": "app:"}, True),
        ({"who": "system"}, False),
        ({"q": "REVIEW"}, True),
        ({"q": "nothing"}, False),
        ({"since": "2031-05-06", "until": "2031-05-06"}, True),
        ({"since": "2031-05-07"}, False),
        ({"until": "2031-05-05"}, False),
    ],
)
def test_the_file_is_filtered_as_the_list(
    audit_client: Panel, shop: Shop, filtered: dict[str, str], stays: bool
) -> None:
    Shop.objects.filter(pk=shop.pk).update(timezone="Pacific/Auckland")
    factories.make_installation(shop, name="Reviews")
    drop_event_triggers()
    # May 6 in the shop's time zone, but May 5 in UTC.
    Event.objects.filter(topic="app/installed").update(actor="app:7", created_at=datetime(2031, 5, 5, 13, tzinfo=UTC))

    assert ("Reviews" in export_audit_log(audit_client, **filtered)) is stays


def test_the_form_begins_with_the_filters_of_the_list(audit_client: Panel, time_machine: TimeMachineFixture) -> None:
    time_machine.move_to(datetime(2031, 5, 6, 15, tzinfo=UTC))
    audit_client.http.force_login(audit_client.user)

    filters = {"topic": "app/installed", "who": "system", "q": "#1"}
    form = audit_client.get(NEW, kind="events", period="7", **filters).context["form"]

    expected = {**filters, "since": "2031-04-29"}
    assert {name: str(form[name].value()) for name in expected} == expected
    assert audit_client.get(NEW, kind="events", period="x").status_code == 200
    days = audit_client.get(NEW, kind="events", date_from="2031-01-02", date_to="2031-01-03").context["form"]
    assert [days[name].value() for name in ("since", "until")] == ["2031-01-02", "2031-01-03"]


def test_the_audit_log_is_not_exported_without_permission_to_read_it(admin_client_with: PanelWith) -> None:
    clerk = admin_client_with("export_orders", "export_customers")
    url = clerk.url(NEW) + "?kind=events"

    answers = [clerk.http.get(url), clerk.http.post(url, {"form_key": clerk.form_key(NEW), "format": "csv"})]
    forged = clerk.forge(NEW, kind="events", format="csv")

    assert [response.status_code for response in answers] == [403, 403]
    assert "kind" in forged.context["form"].errors
    assert not Export.objects.exists()


@pytest.mark.parametrize("page", ["catalog_product", "customers_customer", "orders_order"])
def test_lists_lead_to_files_in_and_out(page: str, owner_client: Panel, admin_client_with: PanelWith) -> None:
    name = {"catalog_product": "products", "customers_customer": "customers", "orders_order": "orders"}[page]
    export, upload = (
        f"{owner_client.url(NEW)}?kind={name}",
        f'{owner_client.url("imports_exports_import_upload")}?kind={name}"',
    )

    html = owner_client.get(f"{page}_changelist").content.decode()
    assert export in html
    assert upload in html
    assert owner_client.get(NEW, kind=name).context["form"]["kind"].value() == name
    assert export not in admin_client_with(name).get(f"{page}_changelist").content.decode()


def test_audit_log_exports_are_in_english_for_everyone(owner_client: Panel) -> None:
    User.objects.filter(pk=owner_client.user.pk).update(language="de")

    export = make_export(owner_client, kind="orders")

    event = Event.objects.get(subject_type="imports_exports.export", subject_id=export.pk)
    assert event.subject_label.startswith("Orders of ")


def test_refunds_are_exported_with_a_row_per_tax(
    admin_client_with: PanelWith, api: ApiClient, other_shop: Shop
) -> None:
    taxes = [{"title": "GST", "rate": "0.05"}, {"title": "QST", "rate": "0.09975"}]
    body = {
        "line_items": [{"title": "Mug", "price": "10.00", "quantity": 2, "tax_lines": taxes}],
        "shipping_lines": [{"title": "Post", "price": "4.00", "tax_lines": taxes[:1]}],
        "shipping_address": {"country_code": "CA", "province_code": "QC"},
        "presentment_currency": "EUR",
        "exchange_rate": "0.9",
        "financial_status": "paid",
    }
    order = api.post("orders.json", {"order": body}).json()["order"]
    unit = {"line_item_id": order["line_items"][0]["id"], "quantity": 1}
    parts: JsonObject = {"refund_line_items": [unit], "shipping": {"full_refund": True}, "note": "=1+1"}
    for refund in ({**parts, "transactions": [{"amount": "15.70"}]}, {"transactions": [{"amount": "1.00"}]}):
        response = api.post(f"orders/{order['id']}/refunds.json", {"refund": {"currency": "USD", **refund}})
        assert response.status_code == 201, response.json()
    panel = admin_client_with("orders", "export_orders")
    assert "Export…" in panel.get("refunds_refund_changelist").content.decode()

    files = {}
    for file_format in ("csv", "jsonl"):
        export = make_export(panel, kind="refunds", format=file_format)
        link = panel.get("imports_exports_export_change", export.pk).context["link"]
        files[file_format] = read_stream(panel.http.get(link)).decode("utf-8-sig")

    rows = list(csv.DictReader(io.StringIO(files["csv"])))
    amounts = ("refunded", "items", "shipping", "duties", "total_tax", "presentment_total_tax")
    cells = [
        [row[name] for name in ("order_name", *amounts, "tax_title", "tax_rate", "tax", "presentment_tax")]
        for row in rows
    ]
    assert cells == [
        ["#1001", "15.70", "10.00", "4.00", "0.00", "1.70", "1.53", "GST", "0.05", "0.70", "0.63"],
        ["#1001", *[""] * 6, "QST", "0.09975", "1.00", "0.90"],
        ["#1001", "1.00", "0.00", "0.00", "0.00", "0.00", "0.00", *[""] * 4],
    ]
    others = ("currency", "presentment_currency", "country_code", "province_code", "taxes_included", "note")
    assert [rows[0][name] for name in others] == ["USD", "EUR", "CA", "QC", "false", "'=1+1"]
    objects = [orjson.loads(line)["refund"] for line in files["jsonl"].splitlines()]
    shown = api.get(f"orders/{order['id']}/refunds.json").json()["refunds"]
    assert [{name: row[name] for name in shown[0]} for row in objects] == shown
