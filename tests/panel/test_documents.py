"""Documents in the panel: on the order page, in the order list, and their settings."""

import html
from io import BytesIO

import pytest
from pypdf import PdfReader

from apps.core.events.models import Event
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.documents.domain.issue import issue_credit_note, issue_invoice
from apps.documents.models import DocumentLogo, DocumentSettings, IssuedDocument
from apps.imports_exports.models import Export
from apps.orders.domain import edit_lines, transitions
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.models import Order
from tests.support import factories
from tests.support.api_client import Response
from tests.support.factories.fulfillment import make_fulfillment_order
from tests.support.factories.orders import make_order
from tests.support.factories.refunds import refund_amount
from tests.support.files.images import make_plain_image
from tests.support.panel.client import Panel, PanelWith

pytestmark = pytest.mark.usefixtures("in_shop")

ORDER, LIST = "orders_order_change", "orders_order_changelist"
ISSUE, CREDIT, CANCEL, FILE = (f"documents_issueddocument_{name}" for name in ("issue", "credit", "cancel", "file"))
SETTINGS = "documents_documentsettings_edit"
FORM = {"language": "", "invoice_prefix": "INV-", "credit_note_prefix": "CN-", "footer": ""}
ADDRESS = {"first_name": "Ada", "last_name": "Lovelace", "address1": "St James's Square 12", "country_code": "GB"}


def buy(shop: Shop, **values: object) -> Order:
    return make_order(shop, **{"financial_status": "paid", "billing_address": ADDRESS, **values})


def issue(order: Order) -> IssuedDocument:
    return issue_invoice(order, actor="system", at=order.created_at)


def read_pdf(response: Response) -> str:
    assert response.status_code == 200
    assert response["Content-Type"] == "application/pdf"
    return "\n".join(page.extract_text() for page in PdfReader(BytesIO(response.getvalue())).pages)


def run_jobs(task: str) -> None:
    for key in list(Job.objects.filter(task=task).order_by("pk").values_list("key", flat=True)):
        queue.run_job(key)


def test_invoice_is_issued_printed_and_cancelled_on_the_order_page(order_client: Panel, shop: Shop) -> None:
    order = buy(shop)
    page = order_client.get(ORDER, order.pk).content.decode()
    assert "Issue invoice" in page
    assert 'id="documents"' not in page

    order_client.forge(ISSUE, order.pk)

    document = IssuedDocument.objects.get()
    page = order_client.get(ORDER, order.pk).content.decode()
    assert f"Invoice {document.name}" in page
    assert f"Document issued: {document.name}" in page
    assert "Issue invoice" not in page
    printed, downloaded = order_client.get(FILE, document.pk), order_client.get(FILE, document.pk, download=1)
    assert document.name in read_pdf(printed)
    assert printed["Content-Disposition"] == f'inline; filename="{document.name}.pdf"'
    assert downloaded["Content-Disposition"].startswith("attachment")

    assert "20.00 USD" in order_client.get(CANCEL, document.pk).content.decode()
    order_client.forge(CANCEL, document.pk)

    page = order_client.get(ORDER, order.pk).content.decode()
    assert "Credit note CN-" in page
    assert "Issue invoice" in page


def test_refusal_is_explained_and_changes_nothing(order_client: Panel, shop: Shop) -> None:
    order = buy(shop, test=True)

    response = order_client.http.get(order_client.forge(ISSUE, order.pk)["Location"])

    assert "Test orders get no invoices." in response.content.decode()
    assert not IssuedDocument.objects.exists()


def test_credit_note_is_offered_for_each_refund(order_client: Panel, shop: Shop) -> None:
    order = buy(shop)
    issue(order)
    refund = refund_amount(order, "5.00")
    assert "has no credit note" in order_client.get(ORDER, order.pk).content.decode()

    order_client.forge(CREDIT, refund.pk)

    page = order_client.get(ORDER, order.pk).content.decode()
    assert "has no credit note" not in page
    assert IssuedDocument.objects.get(refund=refund).name in page


def test_credit_note_is_not_offered_for_a_refund_without_an_amount(order_client: Panel, shop: Shop) -> None:
    order = buy(shop)
    issue(order)
    edit(order, 1)
    refund_amount(order, "10.00")

    assert "has no credit note" not in order_client.get(ORDER, order.pk).content.decode()


def edit(order: Order, quantity: int) -> None:
    changes = OrderEdit({order.line_items.get().pk: LineEdit(quantity)})
    edit_lines.edit_lines(order, changes, actor="system", at=order.created_at)
    order.refresh_from_db()


def test_order_that_changed_after_its_invoice_is_pointed_out(
    order_client: Panel, admin_client_with: PanelWith, shop: Shop
) -> None:
    order = buy(shop)
    issue(order)
    text, advice = "have changed since the invoice was issued.", "Cancel the invoice and issue a new one."
    assert text not in order_client.get(ORDER, order.pk).content.decode()
    # The refund of the removed item makes the invoice right.
    edit(order, 1)
    assert text not in order_client.get(ORDER, order.pk).content.decode()

    edit(order, 5)

    page = order_client.get(ORDER, order.pk).content.decode()
    assert text in page
    assert advice in page
    page = admin_client_with("orders").get(ORDER, order.pk).content.decode()
    assert text in page
    assert advice not in page


def test_changed_prices_with_the_same_total_are_pointed_out(order_client: Panel, shop: Shop) -> None:
    order = buy(shop)
    document = issue(order)
    lines = [{**row, "quantity": 1, "price": "20.00"} for row in document.snapshot["lines"]]
    IssuedDocument.objects.update(snapshot={**document.snapshot, "lines": lines})

    assert "have changed since the invoice" in order_client.get(ORDER, order.pk).content.decode()


def test_invoice_with_a_credit_note_is_not_to_be_canceled(order_client: Panel, shop: Shop) -> None:
    order = buy(shop)
    issue(order)
    issue_credit_note(refund_amount(order, "5.00"), actor="system", at=order.created_at)
    assert "have changed since the invoice" not in order_client.get(ORDER, order.pk).content.decode()
    edit(Order.objects.get(), 5)

    page = order_client.get(ORDER, order.pk).content.decode()

    assert "The invoice can't be canceled, because a credit note has already reduced it." in html.unescape(page)
    assert "Cancel the invoice" not in page


def test_canceled_order_with_an_open_invoice_is_pointed_out(order_client: Panel, shop: Shop) -> None:
    order = buy(shop)
    issue(order)
    transitions.cancel_order(order, actor="system", at=order.created_at)

    page = order_client.get(ORDER, order.pk).content.decode()

    assert "The order is canceled, but its invoice is not." in page


def test_characters_without_a_font_are_named(order_client: Panel, shop: Shop) -> None:
    order = buy(shop, billing_address={**ADDRESS, "first_name": "𒀀"})

    response = order_client.http.get(order_client.forge(ISSUE, order.pk)["Location"])

    assert "show these characters: 𒀀" in response.content.decode()


def test_staff_who_only_view_orders_print_but_do_not_issue(admin_client_with: PanelWith, shop: Shop) -> None:
    viewer, outsider = admin_client_with("orders"), admin_client_with("products")
    invoiced, other = buy(shop), buy(shop)
    document = issue(invoiced)

    assert document.name in read_pdf(viewer.get(FILE, document.pk))
    assert "Issue invoice" not in viewer.get(ORDER, other.pk).content.decode()
    assert viewer.forge(ISSUE, other.pk).status_code == 403
    assert viewer.forge(CANCEL, document.pk).status_code == 403
    assert outsider.get(FILE, document.pk).status_code == 403
    assert IssuedDocument.objects.count() == 1


def test_documents_of_another_shop_do_not_exist(order_client: Panel) -> None:
    other = factories.make_shop()
    with shop_scope(other):
        document = issue(buy(other))
        order, other_order = document.order, buy(other)

    assert order_client.get(FILE, document.pk).status_code == 404
    assert order_client.forge(ISSUE, other_order.pk).status_code == 404
    page = order_client.get("documents_issueddocument_print", ids=f"{order.pk}")
    assert page.status_code == 302


def test_packing_and_return_slips_have_no_prices(order_client: Panel, shop: Shop) -> None:
    row = make_fulfillment_order()
    order = Order.objects.get(pk=row.order_id)

    text = read_pdf(order_client.get("documents_issueddocument_packing_slip", order.pk))

    assert "Packing slip" in text
    assert order.name in text
    assert "10.00" not in text
    none = order_client.get("documents_issueddocument_return_slip", order.pk)
    assert none.status_code == 302
    fulfilled = buy(shop, fulfillment_status="fulfilled", shipping_address=ADDRESS)
    text = read_pdf(order_client.get("documents_issueddocument_return_slip", fulfilled.pk))
    for part in ("Return slip", "Mug", "Reason for return", "Ada Lovelace"):
        assert part in text


def select(panel: Panel, action: str, orders: list[Order]) -> Response:
    return panel.post(LIST, action=action, _selected_action=[order.pk for order in orders])


def test_invoices_of_a_few_orders_are_one_file(order_client: Panel, shop: Shop) -> None:
    orders = [buy(shop) for _ in range(3)]
    documents = [issue(order) for order in orders[:2]]

    response = select(order_client, "print_invoices", orders)

    text = read_pdf(order_client.open(response["Location"]))
    assert [document.name in text for document in documents] == [True, True]
    page = order_client.get(LIST).content.decode()
    assert "1 order has no invoice and is not in the file." in page


def test_documents_of_many_orders_are_written_by_a_job(
    order_client: Panel, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.documents.admin.bulk.MAX_PER_PAGE", 1)
    orders = [buy(shop) for _ in range(3)]
    select(order_client, "issue_invoices", orders)
    run_jobs("documents.issue_invoice")
    assert list(IssuedDocument.objects.order_by("number").values_list("order", flat=True)) == [row.pk for row in orders]

    response = select(order_client, "print_invoices", orders)
    run_jobs("imports_exports.write_export")

    export = Export.objects.get()
    assert (export.state, export.row_count) == (Export.State.READY, 3)
    assert response["Location"] == order_client.url("imports_exports_export_change", export.pk)
    file = order_client.get("imports_exports_export_file", export.pk, export.key)
    text = "\n".join(page.extract_text() for page in PdfReader(BytesIO(file.getvalue())).pages)
    assert [f"-{number:04}" in text for number in (1, 2, 3)] == [True] * 3
    assert "Page 1 of 1" in text


def test_invoices_that_cannot_be_issued_are_counted(order_client: Panel, shop: Shop) -> None:
    invoiced, test = buy(shop), buy(shop, test=True)
    issue(invoiced)

    select(order_client, "issue_invoices", [invoiced, test])

    assert "2 orders were skipped." in order_client.get(LIST).content.decode()
    assert not Job.objects.filter(task="documents.issue_invoice").exists()


def test_invoices_with_many_items_are_written_by_a_job(
    order_client: Panel, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.documents.admin.bulk.MAX_LINES_PER_PAGE", 2)
    orders = [buy(shop) for _ in range(3)]
    for order in orders:
        issue(order)

    assert "export" not in select(order_client, "print_invoices", orders[:2])["Location"]
    assert "export" in select(order_client, "print_invoices", orders)["Location"]


def test_packing_slips_of_selected_orders_are_one_file(order_client: Panel) -> None:
    orders = [Order.objects.get(pk=make_fulfillment_order().order_id) for _ in range(2)]

    text = read_pdf(order_client.open(select(order_client, "print_packing_slips", orders)["Location"]))

    assert all(order.name in text for order in orders)


def test_settings_change_the_documents(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("preferences")
    logo = BytesIO(make_plain_image("PNG", (1200, 300)))
    logo.name = "logo.png"

    values = {**FORM, "language": "pl", "invoice_prefix": "F/", "footer": "NIP 123", "issues_automatically": "on"}
    response = panel.forge(SETTINGS, new_logo=logo, **values)

    assert response.status_code == 302
    row = DocumentSettings.objects.get()
    assert row.logo is not None
    assert (row.logo.width, row.logo.height) == (900, 225)
    assert Shop.objects.get().invoices_from is not None
    assert Event.objects.filter(topic="documents/settings_changed").count() == 1
    image = panel.get("documents_documentsettings_logo", row.logo_id)
    assert image["Content-Type"] == "image/png"
    document = issue(buy(shop))
    assert document.name.startswith("F/")
    disposition = admin_client_with("orders").get(FILE, document.pk)["Content-Disposition"]
    assert disposition == f'inline; filename="{document.name.replace("/", "-")}.pdf"'
    assert (document.language, document.logo, document.snapshot["footer"]) == ("pl", row.logo, "NIP 123")

    panel.forge(SETTINGS, removes_logo="on", **FORM)

    assert DocumentSettings.objects.get().logo is None
    assert Shop.objects.get().invoices_from is None
    document.refresh_from_db()
    assert document.logo == row.logo


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"credit_note_prefix": "INV-"}, "Use different prefixes"),
        ({"invoice_prefix": "a b"}, "Use only letters"),
        ({"footer": "\n".join("123456789")}, "Enter at most 8 lines."),
        ({"new_logo": b"no image"}, "image"),
        ({"new_logo": make_plain_image("PNG", (9, 9)), "footer": "\n".join("123456789")}, "Enter at most 8 lines."),
    ],
)
def test_wrong_settings_are_refused(admin_client_with: PanelWith, values: dict[str, str | bytes], message: str) -> None:
    panel = admin_client_with("preferences")
    data = {**FORM, **values}
    if isinstance(content := data.get("new_logo"), bytes):
        file = BytesIO(content)
        file.name = "logo.png"
        data["new_logo"] = file  # type: ignore[assignment]

    response = panel.forge(SETTINGS, **data)

    assert response.status_code == 200
    assert message in response.content.decode()
    assert not DocumentSettings.objects.exists()
    assert not DocumentLogo.objects.exists()


def test_viewers_learn_that_settings_have_not_been_changed(admin_client_with: PanelWith) -> None:
    viewer = admin_client_with(view_only=["preferences"])

    page = viewer.http.get(viewer.url("documents_documentsettings_changelist"), follow=True)

    assert page.status_code == 200
    assert "The settings of invoices and documents have not been changed yet." in page.content.decode()


def test_settings_need_the_permission(order_client: Panel) -> None:
    assert order_client.get(SETTINGS).status_code == 403
    assert order_client.forge(SETTINGS, **FORM).status_code == 403
    assert not DocumentSettings.objects.exists()
