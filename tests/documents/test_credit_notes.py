"""Credit notes of refunds: what they may credit, their recipient and their taxes."""

from decimal import Decimal

import pytest
from django.utils import timezone

from apps.core.jobs.consistency_checks import find_differences
from apps.core.tenancy.models import Shop
from apps.documents.domain import issue
from apps.documents.models import IssuedDocument
from apps.orders.domain import edit_lines, transitions, updates
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.models import LineItem, Order
from apps.refunds.domain.validation import RefundTransactionInput
from tests.support.factories.documents import MARCH, VAT, buy, credit, issue_invoice, read_text, refund

pytestmark = pytest.mark.usefixtures("in_shop")

TWO_MUGS = [{"title": "Mug", "price": Decimal(10), "quantity": 2}]


def remove_mug(order: Order) -> None:
    line = LineItem.objects.get(order=order, title="Mug")
    edit_lines.edit_lines(order, OrderEdit({line.pk: LineEdit(1)}), actor="system", at=timezone.now())
    order.refresh_from_db()


def test_items_that_the_invoice_never_had_are_not_credited(shop: Shop) -> None:
    order = buy(shop, lines=TWO_MUGS, shipping=[])
    remove_mug(order)
    invoice = issue_invoice(order)
    removed = refund(order, "Mug", 1, prefers_removed=True)

    with pytest.raises(issue.NotIssued, match="Cancel the invoice and issue a new one first"):
        credit(removed)

    issue.cancel_invoice(invoice, actor="staff:1", at=MARCH)
    assert issue_invoice(order).total == 20
    assert credit(removed).total == 10
    assert list(find_differences({"document numbers", "documents", "credit notes"})) == []


def test_items_that_are_removed_after_the_invoice_are_credited_with_their_refund(shop: Shop) -> None:
    order = buy(shop, lines=TWO_MUGS, shipping=[])
    issue_invoice(order)
    remove_mug(order)

    assert credit(refund(order, "Mug", 1, prefers_removed=True)).total == 10


def test_credit_note_of_a_changed_order_names_the_reason(shop: Shop) -> None:
    order = buy(shop, lines=[{"title": "Mug", "price": Decimal(10), "quantity": 3}], shipping=[])
    issue_invoice(order)
    credit(refund(order, "Mug", 1))
    remove_mug(order)

    with pytest.raises(issue.NotIssued, match=r"so this refund can't be credited"):
        credit(refund(order, "Mug", 1))


def test_credit_note_has_no_more_taxes_than_its_invoice(shop: Shop) -> None:
    order = buy(shop, shipping=[])
    invoice = issue_invoice(order)
    taxes = [{**tax, "price": "0.01"} for tax in invoice.snapshot["taxes"]]
    IssuedDocument.objects.update(snapshot={**invoice.snapshot, "taxes": taxes})

    with pytest.raises(issue.NotIssued, match="larger than what is left of the invoice"):
        credit(refund(order, "Mug", 1))


def test_canceled_order_is_credited_by_cancelling_its_invoice(shop: Shop) -> None:
    order = buy(shop, lines=TWO_MUGS, shipping=[])
    remove_mug(order)
    invoice = issue_invoice(order)
    refunded = refund(order, "Mug", 2, prefers_removed=True)
    order = transitions.cancel_order(Order.objects.get(), actor="system", at=MARCH)

    with pytest.raises(issue.NotIssued, match="cancel the invoice instead"):
        credit(refunded)

    assert issue.cancel_invoice(invoice, actor="staff:1", at=MARCH).total == invoice.total


def test_credit_note_has_the_recipient_of_its_invoice(shop: Shop) -> None:
    order = buy(shop)
    invoice = issue_invoice(order)
    updates.update_order(order, {"billing_address": {"first_name": "Other"}}, actor="system", at=MARCH)

    note = credit(refund(order, "Mug", 1))

    assert note.snapshot["recipient"] == invoice.snapshot["recipient"]
    assert "Łucja Żółć" in read_text(note)


@pytest.mark.parametrize("taxes_included", [True, False])
def test_withheld_money_is_not_taxed(shop: Shop, *, taxes_included: bool) -> None:
    order = buy(shop, taxes_included=taxes_included)
    issue_invoice(order)

    note = credit(refund(order, "Mug", 1, transaction_inputs=[RefundTransactionInput(Decimal("5.00"))]))

    assert sum(Decimal(tax["base"]) + Decimal(tax["price"]) for tax in note.snapshot["taxes"]) == note.total == 5
    assert "Not taxed" in read_text(note)


def test_exempt_orders_and_items_have_no_taxes(shop: Shop) -> None:
    lines = [
        {"title": "Mug", "price": Decimal(10), "quantity": 1, "tax_lines": [VAT], "taxable": False},
        {"title": "Tea", "price": Decimal(5), "quantity": 1, "tax_lines": [VAT]},
    ]
    order, exempt = buy(shop, lines=lines), buy(shop, lines=lines, tax_exempt=True)

    invoice, other = issue_invoice(order), issue_invoice(exempt)
    notes = credit(refund(order, "Mug", 1)), credit(refund(exempt, "Tea", 1))

    assert [(tax["title"], tax["base"]) for tax in invoice.snapshot["taxes"]] == [("VAT", "9.90"), ("", "10.00")]
    assert [document.snapshot["taxes"] for document in (other, *notes)] == [[], [], []]
    rows = [*other.snapshot["lines"], *other.snapshot["others"]]
    assert [row["rates"] for row in rows] == [[], [], []]


def test_taxes_with_a_rate_of_zero_and_without_a_title_are_shown(shop: Shop) -> None:
    zero, unnamed = (
        {"title": title, "rate": Decimal(rate), "price": None} for title, rate in (("Zero", 0), ("", "0.2"))
    )
    lines = [
        {"title": "Mug", "price": Decimal(10), "quantity": 1, "tax_lines": [zero]},
        {"title": "Tea", "price": Decimal(5), "quantity": 1, "tax_lines": [unnamed]},
    ]

    text = read_text(issue_invoice(buy(shop, lines=lines, shipping=[])))

    for part in ("Zero 0 %", "Tax 20 %", "1.00"):
        assert part in text
    assert "Not taxed" not in text
