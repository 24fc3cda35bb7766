"""Exports of draft orders through the panel."""

import csv
import io
import json
from decimal import Decimal

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.tenancy.scope import shop_scope
from apps.draft_orders.models import DraftOrder
from apps.imports_exports.domain import exports
from apps.imports_exports.models import Export
from tests.support import factories
from tests.support.factories.customers import make_customer
from tests.support.factories.draft_orders import complete, make_draft_order
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.pages import run_latest_job
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("media_root", "in_shop")

LIST, NEW = "draft_orders_draftorder_changelist", "imports_exports_export_new"
TEN_PERCENT = {"title": "Regular", "description": "", "value_type": "percentage", "value": "10"}


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("draft_orders", "export_draft_orders")


def make_quote(**attrs: object) -> DraftOrder:
    """Create a draft order of two items for 20.00 and 15.00, with ten percent off and shipping."""
    cup = {"title": "Cup", "price": Decimal("20.00"), "quantity": 1}
    bowl = {"title": "Bowl", "price": Decimal("5.00"), "quantity": 3}
    shipping = {"title": "Post; express", "price": Decimal("4.90")}
    return make_draft_order([cup, bowl], applied_discount=TEN_PERCENT, shipping_line=shipping, **attrs)


def read_export(panel: Panel, file_format: str, **filters: object) -> str:
    export_job = exports.create_export(
        kind="drafts", format=file_format, filters=filters, user=panel.user, actor="system", at=timezone.now()
    )
    run_latest_job(panel.shop, exports.EXPORT)
    with default_storage.open(Export.objects.get(pk=export_job.pk).path) as file:
        return str(file.read().decode("utf-8-sig"))


def read_rows(panel: Panel) -> list[JsonObject]:
    return list(csv.DictReader(io.StringIO(read_export(panel, "csv"))))


def test_files_have_a_row_for_each_line_item(panel: Panel) -> None:
    customer = make_customer(email="ada@example.com")
    address = {"first_name": "Ada", "city": "Berlin", "country_code": "DE"}
    make_quote(customer_id=customer.pk, email="ada@example.com", note="=1+1", shipping_address=address)
    done = complete(make_draft_order())
    with shop_scope(factories.make_shop()):
        make_draft_order(note="foreign")

    rows = read_rows(panel)

    assert [(row["draft_order"], row["status"], row["line_title"]) for row in rows] == [
        ("#D1", "open", "Cup"),
        ("#D1", "", "Bowl"),
        ("#D2", "completed", "Engraving"),
    ]
    cup, bowl, engraving = rows
    names = ("email", "note", "discount_title", "discount", "shipping_title", "shipping_price", "total_price")
    expected = ["ada@example.com", "'=1+1", "Regular", "3.50", "Post; express", "4.90", "36.40"]
    assert [cup[name] for name in names] == expected
    assert (cup["shipping_city"], cup["billing_city"]) == ("Berlin", "")
    lines = [(row["line_quantity"], row["line_price"], row["line_discount"]) for row in (cup, bowl)]
    assert lines == [("1", "20.00", "2.00"), ("3", "5.00", "1.50")]
    assert done.order is not None
    assert engraving["order"] == done.order.name


def test_files_have_no_links_to_invoices(panel: Panel) -> None:
    draft = make_quote()

    [line] = read_export(panel, "jsonl").splitlines()

    shown = json.loads(line)["draft_order"]
    assert (shown["name"], shown["line_items"][0]["total_discount"]) == ("#D1", "2.00")
    assert "invoice_url" not in shown
    assert draft.invoice_key not in line


def test_the_list_exports_selected_and_found_draft_orders(panel: Panel) -> None:
    drafts = [make_draft_order(email=f"{name}@example.com") for name in ("ada", "bo")]
    address = panel.url(LIST)
    page = panel.http.get(address).content.decode()

    selected = panel.http.post(address, {"action": "export_selected", "_selected_action": [drafts[1].pk]})
    found = panel.post(NEW, form_key=panel.form_key(NEW), kind="drafts", format="xlsx")

    assert "kind=drafts" in page
    assert (selected.status_code, found.status_code) == (302, 302)
    first, second = Export.objects.order_by("pk")
    assert [exports.get_rows(export).count() for export in (first, second)] == [1, 2]
    assert (first.filters, second.format) == ({"ids": [drafts[1].pk]}, "xlsx")
    assert Event.objects.filter(topic="draft_orders/export").count() == 2


def test_exports_need_their_permission(admin_client_with: PanelWith, panel: Panel) -> None:
    draft = make_draft_order()
    for lacking in (
        admin_client_with("draft_orders", "export_orders"),
        admin_client_with("draft_orders", view_only=["export_draft_orders"]),
    ):
        page = lacking.get(LIST).content.decode()
        sent = lacking.http.post(lacking.url(LIST), {"action": "export_selected", "_selected_action": [draft.pk]})

        assert "kind=drafts" not in page
        assert "export_selected" not in page
        assert "/imports_exports/export/" not in sent.get("Location", "")
        assert lacking.forge(NEW, kind="drafts", format="csv").status_code != 302
    assert Export.objects.count() == 0
    read_export(panel, "csv")
    export = Export.objects.get()
    panel.user.memberships.update(permissions=["draft_orders", "export_orders"])
    assert panel.get("imports_exports_export_file", export.pk, export.key).status_code == 403
