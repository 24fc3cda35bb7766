"""Issued invoices and credit notes, and the counters of their numbers."""

from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.core.tenancy.shop_owned import ShopOwned
from apps.documents.models.settings import DocumentLogo
from apps.orders.models import MoneyColumn, Order
from apps.refunds.models import Refund


class Kind(models.TextChoices):
    INVOICE = "invoice", gettext_lazy("Invoice")
    CREDIT_NOTE = "credit_note", gettext_lazy("Credit note")


class DocumentCounter(ShopOwned):
    """The last number of a shop, kind and year.

    Issuing a document locks the row until the commit, so that numbers have no gaps.
    """

    kind = models.CharField(max_length=11, choices=Kind)
    year = models.PositiveSmallIntegerField()
    last_number = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(fields=("shop", "kind", "year"), name="documents_documentcounter_one_per_year"),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.year}: {self.last_number}"


class IssuedDocument(ShopOwned):
    """An issued invoice or credit note.

    ``snapshot`` has everything that the document shows, with amounts as text, and ``checksum`` is its SHA-256. Both
    never change. A credit note belongs to an ``invoice``. It credits a ``refund`` or, without a refund, cancels the
    whole invoice, and sets its ``cancelled_at``. Only the delivery address and the PO number are erased with a
    customer's personal data, because tax law requires the name and address of the recipient of an invoice.
    """

    kind = models.CharField(gettext_lazy("kind"), max_length=11, choices=Kind)
    year = models.PositiveSmallIntegerField(gettext_lazy("year"))
    number = models.PositiveIntegerField()
    name = models.CharField(gettext_lazy("number"), max_length=32)
    order = models.ForeignKey(
        Order,
        on_delete=models.RESTRICT,
        related_name="documents",
        db_index=False,
        verbose_name=gettext_lazy("order"),
    )
    refund = models.ForeignKey(
        Refund, on_delete=models.RESTRICT, null=True, blank=True, related_name="+", db_index=False
    )
    invoice = models.ForeignKey("self", on_delete=models.RESTRICT, null=True, blank=True, related_name="credit_notes")
    issued_at = models.DateTimeField(gettext_lazy("issue date"))
    cancelled_at = models.DateTimeField(null=True, blank=True)
    language = models.CharField(max_length=2)
    currency = models.CharField(max_length=3)
    total = MoneyColumn(gettext_lazy("total"))
    logo = models.ForeignKey(DocumentLogo, on_delete=models.RESTRICT, null=True, blank=True, related_name="+")
    snapshot: "models.JSONField[dict[str, Any], dict[str, Any]]" = models.JSONField()
    checksum = models.CharField(max_length=64)
    delivery_address = models.JSONField(null=True, blank=True)
    po_number = models.CharField(max_length=255, blank=True)

    personal_fields = ("delivery_address", "po_number")
    non_personal_fields = ("name", "language", "currency", "snapshot", "checksum")

    class Meta:
        verbose_name = gettext_lazy("document")
        verbose_name_plural = gettext_lazy("documents")
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                fields=("shop", "kind", "year", "number"), name="documents_issueddocument_number_is_unique"
            ),
            models.UniqueConstraint(fields=("shop", "name"), name="documents_issueddocument_name_is_unique"),
            models.UniqueConstraint(
                fields=("order",),
                condition=Q(kind="invoice", cancelled_at=None),
                name="documents_issueddocument_one_invoice_per_order",
            ),
            models.UniqueConstraint(
                fields=("refund",),
                condition=Q(refund__isnull=False),
                name="documents_issueddocument_one_credit_note_per_refund",
            ),
            models.UniqueConstraint(
                fields=("invoice",),
                condition=Q(invoice__isnull=False, refund=None),
                name="documents_issueddocument_one_cancellation",
            ),
            models.CheckConstraint(
                condition=Q(kind="invoice", invoice=None, refund=None)
                | Q(kind="credit_note", invoice__isnull=False, cancelled_at=None),
                name="documents_issueddocument_credit_note_has_invoice",
            ),
            models.CheckConstraint(condition=Q(number__gte=1), name="documents_issueddocument_number_is_positive"),
        )
        indexes = (
            models.Index(fields=("shop", "-id"), name="documents_issued_by_shop"),
            models.Index(fields=("order", "id"), name="documents_issued_by_order"),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def is_cancellation(self) -> bool:
        """Return True for a credit note that cancels a whole invoice."""
        return self.kind == Kind.CREDIT_NOTE and self.refund_id is None
