"""Factories for invoices and credit notes in the current shop."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any

from django.utils import timezone
from pypdf import PdfReader

from apps.core.tenancy.models import Shop
from apps.documents.domain import issue
from apps.documents.domain.pdf.invoices import write_invoices
from apps.documents.models import IssuedDocument
from apps.orders.domain import payments
from apps.orders.models import LineItem, Order
from apps.refunds.domain import create
from apps.refunds.domain.validation import RefundLineInput, RefundRequest, RefundTransactionInput
from apps.refunds.models import Refund
from tests.support.factories.orders import make_order

MARCH = datetime(2026, 3, 2, 12, tzinfo=UTC)
VAT, FOOD = ({"title": "VAT", "rate": Decimal(rate), "price": None} for rate in ("0.19", "0.07"))
ADDRESS = {"first_name": "Łucja", "last_name": "Żółć", "address1": "ul. Świętojańska 1", "zip": "81-368",
           "city": "Gdynia", "country_code": "PL"}  # fmt: skip


def buy(shop: Shop, *, lines: list[dict[str, Any]] | None = None, **values: Any) -> Order:
    lines = lines or [
        {"title": "Mug", "price": Decimal("9.99"), "quantity": 3, "tax_lines": [VAT], "sku": "MUG-1"},
        {"title": "Tea", "price": Decimal("4.50"), "quantity": 1, "tax_lines": [FOOD]},
    ]
    shipping = [{"title": "Post", "price": Decimal("4.90"), "tax_lines": [VAT]}]
    values = {"billing_address": ADDRESS, "financial_status": "paid", "shipping": shipping, **values}
    return make_order(shop, lines=lines, **values)


def issue_invoice(order: Order, at: datetime = MARCH) -> IssuedDocument:
    return issue.issue_invoice(order, actor="staff:1", at=at)


def refund(order: Order, title: str, quantity: int, *, prefers_removed: bool = False, **values: Any) -> Refund:
    line_id = LineItem.objects.get(order=order, title=title).pk
    line = RefundLineInput(line_id, quantity, prefers_removed=prefers_removed)
    request = RefundRequest(line_inputs=[line], **values)
    if "transaction_inputs" not in values:
        amount = create.calculate_refund(order, request)[1].suggested
        request = replace(request, transaction_inputs=[RefundTransactionInput(amount)])
    return create.create_refund(order, request, actor="system", at=timezone.now())


def credit(refunded: Refund) -> IssuedDocument:
    return issue.issue_credit_note(refunded, actor="staff:1", at=MARCH)


def read_text(*documents: IssuedDocument) -> str:
    file = PdfReader(BytesIO(write_invoices(documents)))
    return "\n".join(page.extract_text() for page in file.pages)


def pay(order: Order) -> None:
    payments.create_transaction(order, {"kind": "sale"}, actor="system", at=timezone.now())
