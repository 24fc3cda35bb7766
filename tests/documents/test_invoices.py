"""Invoices and credit notes: their amounts, numbers, snapshots and PDF files."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.core.jobs import queue
from apps.core.jobs.consistency_checks import find_differences
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.domain import personal_data
from apps.documents.domain import issue
from apps.documents.domain.labels import LABELS
from apps.documents.domain.settings import SettingsRefused, change_settings
from apps.documents.models import DocumentCounter, DocumentSettings, IssuedDocument, Language
from apps.orders.domain import edit_lines, transitions, updates
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.models import LineItem, Order
from apps.refunds.domain.refund_report import RefundReportRange
from apps.refunds.domain.tax_report import get_taxes
from apps.refunds.domain.validation import RefundTransactionInput
from tests.support import factories
from tests.support.factories.customers import make_customer
from tests.support.factories.documents import ADDRESS, MARCH, VAT, buy, credit, issue_invoice, pay, read_text, refund
from tests.support.files.import_export import import_text, to_json_lines

pytestmark = pytest.mark.usefixtures("in_shop")

CHECKS = {"document numbers", "documents", "credit notes"}


def get_taxes_by_rate(document: IssuedDocument) -> dict[str, Decimal]:
    return {tax["rate"]: Decimal(tax["price"]) for tax in document.snapshot["taxes"] if tax["rate"]}


def assert_consistent() -> None:
    assert list(find_differences(CHECKS)) == []


def test_invoice_shows_the_order_with_its_taxes_by_rate(shop: Shop) -> None:
    Shop.objects.update(name="Töpferei Grün", address1="Am Markt 1", zip="80331", city="München", country_code="DE")
    change_settings(
        {"footer": "VAT ID DE123456789", "language": "en"}, issues_automatically=False, actor="staff:1", at=MARCH
    )
    order = buy(shop)

    document = issue_invoice(order)

    order.refresh_from_db()
    assert (document.name, document.total, document.currency) == ("INV-2026-0001", order.total_price, order.currency)
    assert document.snapshot["taxes"] == [
        {"title": "VAT", "rate": "0.19", "base": "34.87", "price": "6.62"},
        {"title": "VAT", "rate": "0.07", "base": "4.50", "price": "0.32"},
    ]
    text = read_text(document)
    shown = ("Invoice", "INV-2026-0001", "March 2, 2026", order.name, "Töpferei Grün", "Am Markt 1", "Łucja Żółć")
    for part in (*shown, "ul. Świętojańska 1", "MUG-1", "29.97", "Shipping: Post", "VAT 19 %", "6.62", "34.87"):
        assert part in text
    assert "46.31 USD" in text
    assert "VAT ID DE123456789" in text
    assert "Page 1 of 1" in text
    assert_consistent()


@pytest.mark.parametrize(("currency", "price", "total"), [("JPY", "1999", "5997"), ("KWD", "1.999", "5.997")])
def test_amounts_have_the_decimals_of_the_currency(shop: Shop, currency: str, price: str, total: str) -> None:
    Shop.objects.update(currency=currency)
    with shop_scope(Shop.objects.get()):
        lines = [{"title": "Mug", "price": Decimal(price), "quantity": 3, "tax_lines": [VAT]}]
        order = buy(Shop.objects.get(), lines=lines, shipping=[], taxes_included=True)

        document = issue_invoice(order)

        assert document.snapshot["total"] == total
        assert document.total == order.total_price
        net = Decimal(document.snapshot["taxes"][0]["base"]) + Decimal(document.snapshot["taxes"][0]["price"])
        assert net == order.total_price
        assert f"{Decimal(total):,} {currency}" in read_text(document)
        assert_consistent()


def test_total_in_the_presentment_currency_is_shown_if_it_differs(shop: Shop) -> None:
    order = buy(shop, presentment_currency="EUR", exchange_rate=Decimal("0.92"))

    document = issue_invoice(order)

    order.refresh_from_db()
    assert document.snapshot["presentment"] == {
        "currency": "EUR",
        "total": str(order.get_presentment("total_price")),
    }
    assert "Total in EUR" in read_text(document)


def test_invoice_leaves_out_removed_items_and_ignores_refunds(shop: Shop) -> None:
    order = buy(shop, financial_status="pending")
    line = LineItem.objects.get(order=order, title="Mug")
    edit_lines.edit_lines(order, OrderEdit({line.pk: LineEdit(2)}), actor="system", at=timezone.now())
    order.refresh_from_db()
    sold = order.current_total_price
    updates_total = order.total_price - order.total_removed
    assert updates_total == sold
    pay(order)
    refund(order, "Mug", 1)

    document = issue_invoice(order)

    assert document.total == sold
    assert [(row["name"], row["quantity"]) for row in document.snapshot["lines"]] == [("Mug", 2), ("Tea", 1)]
    assert_consistent()


def test_taxes_of_documents_equal_the_tax_report(shop: Shop) -> None:
    order = buy(shop, shipping_address={"country_code": "DE"})
    invoice = issue_invoice(order)
    notes = [credit(refund(order, "Mug", 1)), credit(refund(order, "Mug", 2)), credit(refund(order, "Tea", 1))]

    today = timezone.localdate()
    report = {f"{key.rate:f}": amounts for key, amounts in get_taxes(RefundReportRange(today, today, "day")).items()}
    assert {rate: amounts.sales for rate, amounts in report.items()} == get_taxes_by_rate(invoice)
    refunded: dict[str, Decimal] = {}
    for note in notes:
        for rate, price in get_taxes_by_rate(note).items():
            refunded[rate] = refunded.get(rate, Decimal(0)) + price
    assert refunded == {rate: amounts.refunds for rate, amounts in report.items()}
    assert_consistent()


def test_credit_note_credits_a_refund_once(shop: Shop) -> None:
    order = buy(shop)
    refunded = refund(order, "Mug", 2, transaction_inputs=[RefundTransactionInput(Decimal("20.00"))], reason="restock")
    with pytest.raises(issue.NotIssued, match="Issue the invoice of the order first"):
        credit(refunded)
    invoice = issue_invoice(order)

    note = credit(refunded)

    assert (note.name, note.total, note.invoice) == ("CN-2026-0001", Decimal("20.00"), invoice)
    # Two mugs with taxes cost 23.77, and 3.77 were withheld.
    assert [(row["label"], row["amount"]) for row in note.snapshot["others"]] == [("difference", "-3.77")]
    text = read_text(note)
    assert "Credit note" in text
    assert "INV-2026-0001" in text
    with pytest.raises(issue.NotIssued, match=r"already has the credit note CN-2026-0001"):
        credit(refunded)
    assert IssuedDocument.objects.count() == 2
    assert_consistent()


def test_order_gets_a_second_invoice_only_after_a_cancellation(shop: Shop) -> None:
    order = buy(shop)
    invoice = issue_invoice(order)
    with pytest.raises(issue.NotIssued, match=r"already has the invoice INV-2026-0001"):
        issue_invoice(order)

    cancellation = issue.cancel_invoice(invoice, actor="staff:1", at=MARCH)
    second = issue_invoice(order)

    invoice.refresh_from_db()
    assert invoice.cancelled_at == MARCH
    assert (cancellation.total, cancellation.snapshot["cancels"]) == (invoice.total, invoice.name)
    assert second.name == "INV-2026-0002"
    assert "Cancels invoice" in read_text(cancellation)
    with pytest.raises(issue.NotIssued, match="can't be canceled"):
        issue.cancel_invoice(invoice, actor="staff:1", at=MARCH)
    assert_consistent()


def test_invoice_with_a_credit_note_cannot_be_cancelled(shop: Shop) -> None:
    order = buy(shop)
    invoice = issue_invoice(order)
    credit(refund(order, "Tea", 1))

    with pytest.raises(issue.NotIssued, match="CN-2026-0001 has already reduced it"):
        issue.cancel_invoice(invoice, actor="staff:1", at=MARCH)

    assert IssuedDocument.objects.filter(cancelled_at=None).count() == 2


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"test": True}, "Test orders get no invoices"),
        ({"lines": [{"title": "Gift", "price": Decimal(0), "quantity": 1}]}, ""),
    ],
)
def test_orders_without_a_sale_get_no_invoice(shop: Shop, values: dict[str, Any], message: str) -> None:
    order = buy(shop, **{"shipping": [], **values})

    if message:
        with pytest.raises(issue.NotIssued, match=message):
            issue_invoice(order)
        assert not DocumentCounter.objects.exists()
    else:
        assert issue_invoice(order).total == 0


def test_canceled_order_gets_no_invoice(shop: Shop) -> None:
    order = transitions.cancel_order(buy(shop), actor="system", at=MARCH)

    with pytest.raises(issue.NotIssued, match="Canceled orders get no invoices"):
        issue_invoice(order)

    assert not IssuedDocument.objects.exists()


def test_numbers_count_per_shop_kind_and_year_in_the_shops_time_zone(shop: Shop) -> None:
    Shop.objects.update(timezone="Europe/Berlin")
    other = factories.make_shop()
    new_year_in_berlin = datetime(2026, 12, 31, 23, 30, tzinfo=UTC)

    names = [issue_invoice(buy(shop), at).name for at in (MARCH, MARCH, new_year_in_berlin)]

    assert names == ["INV-2026-0001", "INV-2026-0002", "INV-2027-0001"]
    with shop_scope(other):
        assert issue_invoice(buy(other)).name == "INV-2026-0001"
    assert_consistent()


def test_rolled_back_document_leaves_no_gap(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    order = buy(shop)
    with monkeypatch.context() as patched:
        patched.setattr(issue, "record_event", lambda *_args, **_kwargs: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            issue_invoice(order)

    assert issue_invoice(order).number == 1
    assert_consistent()


def test_issued_document_does_not_change(shop: Shop) -> None:
    order = buy(shop)
    document = issue_invoice(order)
    before = read_text(document)
    Shop.objects.update(name="New name", address1="Elsewhere 2")
    change_settings({"footer": "New footer"}, issues_automatically=False, actor="staff:1", at=MARCH)
    updates.update_order(order, {"billing_address": {"first_name": "Other"}}, actor="system", at=MARCH)

    document = IssuedDocument.objects.get()

    assert read_text(document) == before
    assert_consistent()


def test_checks_report_gaps_changes_and_wrong_totals(shop: Shop) -> None:
    documents = [issue_invoice(buy(shop)) for _ in range(3)]
    IssuedDocument.objects.filter(pk=documents[0].pk).delete()
    IssuedDocument.objects.filter(pk=documents[1].pk).update(snapshot={**documents[1].snapshot, "total": "1.00"})
    IssuedDocument.objects.filter(pk=documents[2].pk).update(total=1, cancelled_at=MARCH)

    differences = "\n".join(find_differences(CHECKS))

    assert "invoice 2026: 2 documents with numbers up to 3" in differences
    assert f"document {documents[1].pk}: the snapshot does not match its checksum" in differences
    assert f"document {documents[2].pk}: the total is 1" in differences
    assert f"invoice {documents[2].pk}: canceled without a credit note" in differences


def test_order_with_an_invoice_is_not_deleted(shop: Shop) -> None:
    order = buy(shop)
    issue_invoice(order)

    with pytest.raises(updates.OrderNotDeletable, match="An order with an invoice cannot be deleted"):
        updates.delete_order(order, actor="system", at=MARCH)

    assert Order.objects.filter(pk=order.pk).exists()


def test_erasure_keeps_the_recipient_and_erases_the_rest(shop: Shop) -> None:
    customer = make_customer(email="lucja@example.com")
    other_address = {**ADDRESS, "address1": "ul. Inna 7"}
    order = buy(shop, customer={"id": customer.pk}, shipping_address=other_address, po_number="PO-77")
    document = issue_invoice(order)
    for part in ("ul. Inna 7", "PO-77"):
        assert part in read_text(document)
    customer.refresh_from_db()
    [exported] = personal_data.collect_data(customer)["documents"]
    assert (exported["name"], exported["po_number"]) == (document.name, "PO-77")
    assert "Łucja Żółć" in exported["content"]["recipient"]

    personal_data.redact_customer(customer, actor="staff:1", at=timezone.now())

    text = read_text(IssuedDocument.objects.get())
    assert "Łucja Żółć" in text
    for part in ("ul. Inna 7", "PO-77", "lucja@example.com"):
        assert part not in text
    assert_consistent()


def run_invoice_jobs() -> None:
    for key in list(Job.objects.filter(task="documents.issue_invoice").values_list("key", flat=True)):
        queue.run_job(key)


def test_paid_orders_get_invoices_if_the_shop_wants_it(shop: Shop) -> None:
    buy(shop)
    change_settings({}, issues_automatically=True, actor="staff:1", at=timezone.now())
    with shop_scope(Shop.objects.get()):
        shop = Shop.objects.get()
        buy(shop, processed_at=datetime(2020, 1, 1, tzinfo=UTC))
        buy(shop, test=True)
        paid, unpaid = buy(shop), buy(shop, financial_status="pending")

        run_invoice_jobs()
        assert list(IssuedDocument.objects.values_list("order", flat=True)) == [paid.pk]

        pay(unpaid)
        run_invoice_jobs()
        assert set(IssuedDocument.objects.values_list("order", flat=True)) == {paid.pk, unpaid.pk}


def test_invoice_that_someone_else_issues_first_does_not_fail_the_job(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = buy(shop)
    queue.enqueue_many("documents.issue_invoice", [{"order_id": order.pk}], actor="system")

    def issue_twice(row: Order, *, actor: str, at: datetime) -> IssuedDocument:
        issue.issue_invoice(row, actor="staff:2", at=at)
        return issue.issue_invoice(row, actor=actor, at=at)

    monkeypatch.setattr("apps.documents.domain.automatic.issue_invoice", issue_twice)
    run_invoice_jobs()

    assert Job.objects.get(task="documents.issue_invoice").state == Job.State.DONE


def test_imported_orders_get_no_invoices(shop: Shop, tmp_path: Path) -> None:
    change_settings({}, issues_automatically=True, actor="staff:1", at=MARCH)
    rows = [
        {"source_identifier": f"{number}", "email": f"ada{number}@example.com", "financial_status": "paid",
         "line_items": [{"title": "Mug", "price": "10.00", "quantity": 1}]}
        for number in range(3)
    ]  # fmt: skip

    import_text(Shop.objects.get(), to_json_lines({"order": rows[0]}), tmp_path)
    import_text(Shop.objects.get(), to_json_lines(*({"order": row} for row in rows)), tmp_path)

    assert list(Order.objects.values_list("financial_status", flat=True)) == ["paid"] * 3
    assert not Job.objects.filter(task="documents.issue_invoice").exists()


def test_languages_have_the_same_labels() -> None:
    assert {code: sorted(labels) for code, labels in LABELS.items()} == dict.fromkeys(LABELS, sorted(LABELS["en"]))
    assert set(LABELS) | {""} == set(Language.values)


@pytest.mark.parametrize(("locale", "title"), [("de-AT", "Rechnung"), ("pl", "Faktura"), ("ja", "Facture")])
def test_documents_are_in_the_customers_language_or_else_the_shops(shop: Shop, locale: str, title: str) -> None:
    Shop.objects.update(primary_locale="fr")

    document = issue_invoice(buy(shop, customer_locale=locale))

    assert title in read_text(document)


@pytest.mark.parametrize("name", ["Zażółć Gęślą", "東京 太郎", "김민준", "Ελένη Παπαδοπούλου", "Дмитрий"])
def test_names_in_many_scripts_can_be_extracted(shop: Shop, name: str) -> None:
    document = issue_invoice(buy(shop, billing_address={**ADDRESS, "first_name": name, "last_name": ""}))

    assert name in read_text(document)


def test_arabic_names_are_joined_and_can_be_extracted(shop: Shop) -> None:
    document = issue_invoice(buy(shop, billing_address={**ADDRESS, "first_name": "محمد", "last_name": "العلي"}))

    text = read_text(document)

    assert "محمد" in text or "محمد"[::-1] in text


def test_long_invoice_has_page_numbers(shop: Shop) -> None:
    lines = [{"title": f"Mug {number}", "price": Decimal(1), "quantity": 1} for number in range(60)]
    document = issue_invoice(buy(shop, lines=lines))

    text = read_text(document)

    assert [f"Page {number} of 3" in text for number in (1, 2, 3)] == [True] * 3
    assert text.count("Quantity") == 3


def test_prefixes_must_differ(shop: Shop) -> None:
    same = {"invoice_prefix": "A", "credit_note_prefix": "A"}

    with pytest.raises(SettingsRefused):
        change_settings(same, issues_automatically=False, actor="staff:1", at=MARCH)

    assert not DocumentSettings.objects.exists()
