import secrets

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.models import VersionField
from apps.core.tenancy.models import App
from apps.core.tenancy.shop_owned import ShopOwned
from apps.customers.models import Customer
from apps.orders.models import Order
from apps.orders.models.bases import OrderBase


def new_invoice_key() -> str:
    """Return 128 random bits as hex. The URL of the invoice page contains the signed key."""
    return secrets.token_hex(16)


class DraftOrderCounter(ShopOwned):
    """The number of the shop's newest draft order. The row is locked while a draft order is created."""

    last_number = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("shop",), name="draft_orders_counter_one_per_shop"),)

    def __str__(self) -> str:
        return f"#D{self.last_number}"


class DraftOrder(OrderBase):
    """A draft order, the aggregate root of its lines.

    Amounts are in ``currency``, as in ``Order``. The totals, ``tax_lines`` and ``discount_applications`` are calculated
    from the other columns and the lines (``domain.calculation``), and a completed order has the same amounts.

    ``applied_discount`` is null or has ``title``, ``description``, ``value_type`` (``fixed_amount`` or
    ``percentage``), ``value`` and the calculated ``amount``. ``shipping_line`` is null or has ``title``, ``handle``,
    ``custom``, ``price``, and the calculated ``tax_lines`` and ``discount_allocations``.
    """

    class Status(models.TextChoices):
        OPEN = "open", pgettext_lazy("draft order", "Open")
        INVOICE_SENT = "invoice_sent", pgettext_lazy("draft order", "Invoice sent")
        COMPLETED = "completed", pgettext_lazy("draft order", "Completed")

    number = models.PositiveBigIntegerField(editable=False)
    name = models.CharField(gettext_lazy("draft order"), max_length=32, editable=False)
    invoice_key = models.CharField(max_length=32, default=new_invoice_key, editable=False)
    status = models.CharField(
        gettext_lazy("status"), max_length=12, choices=Status, default=Status.OPEN, editable=False
    )
    invoice_sent_at = models.DateTimeField(gettext_lazy("invoice sent at"), null=True, blank=True, editable=False)
    completed_at = models.DateTimeField(gettext_lazy("completed at"), null=True, blank=True, editable=False)
    # An order can be deleted. Its draft order then stays completed, so it cannot be completed a second time.
    order = models.OneToOneField(
        Order, on_delete=models.SET_NULL, null=True, blank=True, related_name="draft_order", editable=False
    )

    customer = models.ForeignKey(
        Customer,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="draft_orders",
        verbose_name=gettext_lazy("customer"),
    )

    tax_exempt = models.BooleanField(gettext_lazy("tax exempt"), default=False)
    customer_tax_exempt = models.BooleanField(
        default=False, editable=False, help_text="Whether the customer was tax exempt at the last calculation."
    )
    applied_discount = models.JSONField(null=True, blank=True, editable=False)
    discount_codes = models.JSONField(default=list, editable=False, help_text="The codes as entered.")
    shipping_line = models.JSONField(null=True, blank=True, editable=False)

    presentment_totals = models.JSONField(default=dict, editable=False)

    app = models.ForeignKey(App, on_delete=models.SET_NULL, null=True, related_name="+", editable=False)
    version = VersionField()

    personal_fields = ("email", "billing_address", "shipping_address", "note", "note_attributes", "tags")
    non_personal_fields = (
        "name",
        "invoice_key",
        "currency",
        "presentment_currency",
        "applied_discount",
        "discount_codes",
        "shipping_line",
        "presentment_totals",
        "discount_applications",
        "tax_lines",
    )
    unrecorded_fields = ("invoice_key",)

    class Meta:
        verbose_name = gettext_lazy("draft order")
        verbose_name_plural = gettext_lazy("draft orders")
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(fields=("shop", "number"), name="draft_orders_number_is_unique"),
            models.UniqueConstraint(fields=("shop", "invoice_key"), name="draft_orders_invoice_key_is_unique"),
            models.CheckConstraint(
                condition=Q(total_price__gte=0, subtotal_price__gte=0, total_tax__gte=0, total_discounts__gte=0),
                name="draft_orders_totals_not_negative",
                violation_error_code="total_price",
            ),
            models.CheckConstraint(condition=Q(exchange_rate__gt=0), name="draft_orders_rate_is_positive"),
            models.CheckConstraint(
                condition=(
                    Q(status="completed", completed_at__isnull=False)
                    | Q(status="invoice_sent", completed_at=None, order=None, invoice_sent_at__isnull=False)
                    | Q(status="open", completed_at=None, order=None)
                ),
                name="draft_orders_status_fits_its_moments",
            ),
        )
        indexes = (
            models.Index(fields=("shop", "id"), name="draft_orders_by_shop"),
            models.Index(fields=("shop", "status", "id"), name="draft_orders_by_status"),
            models.Index(fields=("shop", "updated_at", "id"), name="draft_orders_by_update"),
        )

    @property
    def is_completed(self) -> bool:
        return self.status == self.Status.COMPLETED

    @property
    def is_tax_exempt(self) -> bool:
        return self.tax_exempt or self.customer_tax_exempt

    @property
    def recipient(self) -> str:
        """Return the email address of the draft order or, without one, of its customer."""
        return self.email or (self.customer.email if self.customer else "")
