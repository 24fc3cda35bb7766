"""Check issued documents: numbers without gaps, unchanged snapshots, and amounts that add up."""

from collections.abc import Iterator
from decimal import Decimal

from django.db.models import Count, Max, Sum

from apps.core.money import ZERO
from apps.core.types import ReadOnlyAttrs
from apps.documents.domain.snapshots import calculate_checksum
from apps.documents.models import DocumentCounter, IssuedDocument, Kind


def check_document_numbers() -> Iterator[str]:
    """Yield a message for each shop, kind and year with a missing number, or with a wrong counter."""
    counters = {(row.shop_id, row.kind, row.year): row.last_number for row in DocumentCounter.objects.order_by("pk")}
    groups = IssuedDocument.objects.order_by().values_list("shop_id", "kind", "year")
    issued = {
        key: (count, last)
        for *key_parts, count, last in groups.annotate(Count("pk"), Max("number"))
        if (key := tuple(key_parts))
    }
    for key in sorted(counters.keys() | issued.keys()):
        count, last = issued.get(key, (0, 0))
        if not count == last == counters.get(key, 0):
            shop, kind, year = key
            yield (
                f"shop {shop}, {kind} {year}: {count} documents with numbers up to {last}, "
                f"the last number is {counters.get(key, 0)}"
            )


def check_documents() -> Iterator[str]:
    """Yield a message for each document that was changed, or with amounts that do not add up.

    The total must be equal to the sum of the rows and taxes, which was the order's total when the invoice was issued.
    """
    for document in IssuedDocument.objects.order_by("pk").iterator():
        where = f"shop {document.shop_id}, document {document.pk}"
        if calculate_checksum(document.snapshot) != document.checksum:
            yield f"{where}: the snapshot does not match its checksum"
        elif document.total != (expected := calculate_total(document.snapshot)):
            yield f"{where}: the total is {document.total:f}, the amounts add up to {expected:f}"


def calculate_total(content: ReadOnlyAttrs) -> Decimal:
    """Return the sum of the amounts in a snapshot."""
    rows = [*content["lines"], *content["others"]]
    taxes = [] if content["taxes_included"] else content["taxes"]
    return sum((Decimal(row["amount"]) for row in rows), sum((Decimal(tax["price"]) for tax in taxes), ZERO))


def check_credit_notes() -> Iterator[str]:
    """Yield a message for each invoice with larger credit notes than its total, or cancelled without a credit note."""
    notes = IssuedDocument.objects.filter(kind=Kind.CREDIT_NOTE).order_by().values_list("invoice_id")
    credited: dict[int | None, Decimal] = dict(notes.annotate(Sum("total")))
    for invoice in (
        IssuedDocument.objects.filter(kind=Kind.INVOICE, pk__in=list(credited)).order_by("pk").defer("snapshot")
    ):
        # SQLite adds up decimals as floating-point numbers.
        if (amount := round(credited[invoice.pk], 3)) > invoice.total:
            yield f"shop {invoice.shop_id}, invoice {invoice.pk}: {amount:f} credited of {invoice.total:f}"
    cancelled = IssuedDocument.objects.filter(kind=Kind.INVOICE, cancelled_at__isnull=False)
    for invoice in (
        cancelled.exclude(credit_notes__refund=None, credit_notes__isnull=False).order_by("pk").defer("snapshot")
    ):
        yield f"shop {invoice.shop_id}, invoice {invoice.pk}: canceled without a credit note"
