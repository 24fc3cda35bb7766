"""Issue invoices and credit notes, and cancel invoices.

Each function locks the order, checks the rules, takes the next number and saves the document, in one transaction. If
the transaction is rolled back, the number is free again.
"""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError
from apps.core.money import ZERO
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs
from apps.documents.domain.amounts import DocumentAmounts, get_credit_note_amounts, get_invoice_amounts
from apps.documents.domain.settings import get_document_settings
from apps.documents.domain.snapshots import Snapshot, build_snapshot, calculate_checksum, get_day
from apps.documents.models import DocumentCounter, DocumentSettings, IssuedDocument, Kind
from apps.orders.domain.selectors import lock_order
from apps.orders.models import Order
from apps.refunds.models import Refund

ISSUED, CANCELLED = "documents/issued", "documents/invoice_cancelled"


class NotIssued(DomainError):
    """Raised when a document cannot be issued or cancelled."""


def get_invoice(order: Order) -> IssuedDocument | None:
    """Return the order's invoice that is not cancelled, if there is one."""
    return IssuedDocument.objects.filter(order=order, kind=Kind.INVOICE, cancelled_at=None).first()


def get_invoice_ids(order_ids: Sequence[int]) -> list[int]:
    """Return the ids of the orders' invoices that are not cancelled, in the sequence of the orders."""
    rows = IssuedDocument.objects.filter(order__in=order_ids, kind=Kind.INVOICE, cancelled_at=None)
    by_order = dict(rows.values_list("order", "pk"))
    return [by_order[pk] for pk in order_ids if pk in by_order]


def get_objection(order: Order) -> str:
    """Return why orders such as this one get no invoice, or nothing. ``get_orders_to_invoice`` has the same rules."""
    if order.test:
        return _("Test orders get no invoices.")
    if order.cancelled_at is not None:
        return _("Canceled orders get no invoices.")
    if order.redacted_at is not None:
        return _("The personal data of this order was erased, so an invoice would have no recipient.")
    return ""


@transaction.atomic
def issue_invoice(order: Order, *, actor: str, at: datetime) -> IssuedDocument:
    """Issue the invoice of an order.

    Raises:
        NotIssued: The order has an invoice, is canceled, a test or erased, or has nothing to invoice.
    """
    order = lock_order(order)
    if (existing := get_invoice(order)) is not None:
        raise NotIssued(_("This order already has the invoice {name}.").format(name=existing))
    if objection := get_objection(order):
        raise NotIssued(objection)
    amounts = get_invoice_amounts(order)
    if not amounts.lines and not amounts.total:
        raise NotIssued(_("This order has nothing to invoice."))
    return _issue(Kind.INVOICE, order, amounts, actor=actor, at=at)


@transaction.atomic
def issue_credit_note(refund: Refund, *, actor: str, at: datetime) -> IssuedDocument:
    """Issue the credit note of a refund, for the invoice of its order.

    Raises:
        NotIssued: The refund has a credit note, the order has no invoice, the invoice is too small, or is not for what
            was sold, so that it might lack the refunded items.
    """
    order = lock_order(refund.order)
    refund = Refund.objects.select_related("order").get(pk=refund.pk)
    if (existing := IssuedDocument.objects.filter(refund=refund).first()) is not None:
        raise NotIssued(_("This refund already has the credit note {name}.").format(name=existing))
    invoice = get_invoice(order)
    if invoice is None:
        raise NotIssued(_("Issue the invoice of the order first. A credit note refers to an invoice."))
    amounts = get_credit_note_amounts(refund)
    if amounts.total <= 0:
        raise NotIssued(_("This refund has no amount to credit."))
    if order.cancelled_at is None and get_invoice_amounts(order).total != invoice.total:
        raise NotIssued(_describe_change(invoice))
    if amounts.total > invoice.total - get_credited_amount(invoice) or _has_more_taxes(amounts, invoice):
        if order.cancelled_at is not None and not invoice.credit_notes.exists():
            raise NotIssued(
                _(
                    "The refund is larger than the invoice {name}. "
                    "The order is canceled, so cancel the invoice instead."
                ).format(name=invoice)
            )
        raise NotIssued(_("The refund is larger than what is left of the invoice {name}.").format(name=invoice))
    return _issue(Kind.CREDIT_NOTE, order, amounts, invoice=invoice, refund=refund, actor=actor, at=at)


def _describe_change(invoice: IssuedDocument) -> str:
    if invoice.credit_notes.exists():
        return _(
            "The items of the order have changed since the invoice {name} was issued, so this refund can't be credited."
        ).format(name=invoice)
    return _(
        "The items of the order have changed since the invoice {name} was issued. "
        "Cancel the invoice and issue a new one first."
    ).format(name=invoice)


def _has_more_taxes(amounts: DocumentAmounts, invoice: IssuedDocument) -> bool:
    """Return True if a tax of a credit note is higher than what its invoice and earlier credit notes leave of it."""
    left: dict[tuple[str, str], Decimal] = {}
    documents = [(invoice, 1), *((note, -1) for note in invoice.credit_notes.all())]
    for document, sign in documents:
        for tax in document.snapshot["taxes"]:
            key = (tax["title"], tax["rate"])
            left[key] = left.get(key, ZERO) + sign * Decimal(tax["price"])
    return any(tax.price > left.get((tax.title, tax.rate), ZERO) for tax in amounts.taxes)


def get_credited_amount(invoice: IssuedDocument) -> Decimal:
    return sum(invoice.credit_notes.values_list("total", flat=True), ZERO)


@transaction.atomic
def cancel_invoice(invoice: IssuedDocument, *, actor: str, at: datetime) -> IssuedDocument:
    """Cancel an invoice with a credit note for all of it, so that a new invoice can be issued for the order.

    Raises:
        NotIssued: The document is no invoice, is already cancelled, or has credit notes.
    """
    order = lock_order(invoice.order)
    invoice = IssuedDocument.objects.get(pk=invoice.pk)
    if invoice.kind != Kind.INVOICE or invoice.cancelled_at is not None:
        raise NotIssued(
            _("{name} can't be canceled. Only invoices that are not yet canceled can.").format(name=invoice)
        )
    if (credit_note := invoice.credit_notes.first()) is not None:
        raise NotIssued(
            _(
                "The invoice {name} can't be canceled, because the credit note {credit_note} has already reduced it."
            ).format(name=invoice, credit_note=credit_note)
        )
    number = _NextNumber(Kind.CREDIT_NOTE, at)
    content = {
        **invoice.snapshot,
        "name": number.name,
        "date": get_day(at, number.shop),
        "cancels": invoice.name,
    }
    snapshot = Snapshot(invoice.language, content, invoice.delivery_address)
    invoice.cancelled_at = at
    invoice.save(update_fields=["cancelled_at"])
    cancellation = _save(number, order, snapshot, invoice.total, logo_id=invoice.logo_id, invoice=invoice, at=at)
    record_event(CANCELLED, invoice, actor=actor, at=at)
    record_event(ISSUED, cancellation, actor=actor, at=at)
    return cancellation


def _issue(
    kind: Kind,
    order: Order,
    amounts: DocumentAmounts,
    *,
    actor: str,
    at: datetime,
    invoice: IssuedDocument | None = None,
    refund: Refund | None = None,
) -> IssuedDocument:
    number = _NextNumber(kind, at)
    snapshot = build_snapshot(
        order, amounts, shop=number.shop, settings=number.settings, name=number.name, at=at, invoice=invoice
    )
    document = _save(
        number,
        order,
        snapshot,
        amounts.total,
        logo_id=number.settings.logo_id,
        invoice=invoice,
        refund=refund,
        at=at,
    )
    record_event(ISSUED, document, actor=actor, at=at)
    return document


class _NextNumber:
    """The next number of a kind in the year of ``at``. The shop's counter stays locked until the commit."""

    shop: Shop
    settings: DocumentSettings

    def __init__(self, kind: Kind, at: datetime) -> None:
        # Read the shop again, because the document shows its current name and address.
        self.shop, self.settings = Shop.objects.get(pk=get_current_shop().pk), get_document_settings()
        self.kind, self.year = kind, at.astimezone(self.shop.tzinfo).year
        self.number = self._take()
        prefix = self.settings.invoice_prefix if kind == Kind.INVOICE else self.settings.credit_note_prefix
        self.name = f"{prefix}{self.year}-{self.number:04}"
        if IssuedDocument.objects.filter(name=self.name).exists():
            raise NotIssued(
                _(
                    "The number {name} is already used by another document. Change the prefix in the document settings."
                ).format(name=self.name)
            )

    def _take(self) -> int:
        counter = DocumentCounter.objects.filter(kind=self.kind, year=self.year)
        if not counter.update(last_number=F("last_number") + 1):
            new_counter = DocumentCounter(shop=self.shop, kind=self.kind, year=self.year)
            DocumentCounter.objects.bulk_create([new_counter], ignore_conflicts=True)
            counter.update(last_number=F("last_number") + 1)
        return counter.values_list("last_number", flat=True).get()


def _save(
    number: _NextNumber, order: Order, snapshot: Snapshot, total: Decimal, *, at: datetime, **columns: object
) -> IssuedDocument:
    values: Attrs = {
        "kind": number.kind,
        "year": number.year,
        "number": number.number,
        "name": number.name,
        "issued_at": at,
        "created_at": at,
        "language": snapshot.language,
        "currency": order.currency,
        "total": total,
        "snapshot": snapshot.content,
        "checksum": calculate_checksum(snapshot.content),
        "delivery_address": snapshot.delivery_address,
        "po_number": order.po_number,
    }
    document = IssuedDocument(shop=number.shop, order=order, **values, **columns)
    document.save(force_insert=True)
    return document
