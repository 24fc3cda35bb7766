"""Models for refunds: refunded items, shipping, duties, and adjustments.

All amounts are in the order's currency. A refund never changes. The statuses of its transactions show whether the money
has been refunded.
"""

import uuid
from decimal import Decimal
from typing import Any

from django.db import models
from django.db.models import Q, Value
from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.core.money import format_decimal
from apps.core.tenancy.shop_owned import ShopOwned
from apps.inventory.models import Location
from apps.orders.models import LineItem, MoneyColumn, Order, ShippingLine, Transaction


class PresentmentColumn(models.DecimalField[Decimal | None, Decimal | None]):
    """A column for an amount in the presentment currency. It is null if that is the order's currency."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"max_digits": 20, "decimal_places": 3, "null": True, "editable": False, **kwargs})


class TaxLinesColumn(models.JSONField):
    """A column for refunded taxes: title, rate, price, presentment price (if the currencies differ), channel liable."""

    def __init__(self, **kwargs: Any) -> None:
        empty = Value([], models.JSONField())
        super().__init__(**{"default": list, "db_default": empty, "editable": False, **kwargs})


class RefundReason(models.TextChoices):
    RESTOCK = "restock", gettext_lazy("Restocking fee")
    DAMAGE = "damage", gettext_lazy("Damage")
    CUSTOMER = "customer", gettext_lazy("Goodwill")
    OTHER = "other", gettext_lazy("Other")


class Refund(ShopOwned):
    order = models.ForeignKey(
        Order, on_delete=models.CASCADE, related_name="refunds", db_index=False, verbose_name=gettext_lazy("order")
    )
    note = models.TextField(gettext_lazy("note"), max_length=5000, blank=True)
    reason = models.CharField(gettext_lazy("reason"), max_length=8, choices=RefundReason, blank=True, db_default="")
    user_id = models.BigIntegerField(null=True, blank=True)
    restock = models.BooleanField(default=False, help_text=gettext_lazy("Checked if refunded items were restocked."))
    processed_at = models.DateTimeField(gettext_lazy("refund date"), default=timezone.now)
    total_duties = MoneyColumn(db_default=0, help_text=gettext_lazy("The refunded duties, excluding taxes."))
    presentment_duties = PresentmentColumn()
    tax_lines = TaxLinesColumn(help_text="The taxes of the items, shipping and duties, added up by title and rate.")

    personal_fields = ("note",)
    non_personal_fields = ("tax_lines",)

    class Meta:
        verbose_name = gettext_lazy("refund")
        verbose_name_plural = gettext_lazy("refunds")
        ordering = ("id",)
        indexes = (
            models.Index(fields=("order", "id"), name="refunds_refund_by_order"),
            models.Index(fields=("shop", "created_at", "id"), name="refunds_refund_by_creation"),
            models.Index(fields=("shop", "processed_at", "id"), name="refunds_refund_by_moment"),
        )

    def __str__(self) -> str:
        return f"Refund {self.pk}"


class RefundLineItem(ShopOwned):
    class RestockType(models.TextChoices):
        NO_RESTOCK = "no_restock", gettext_lazy("Not restocked")
        CANCEL = "cancel", gettext_lazy("Canceled before fulfillment")
        RETURN = "return", gettext_lazy("Returned")
        LEGACY_RESTOCK = "legacy_restock", gettext_lazy("Restocked (legacy)")

    refund = models.ForeignKey(
        Refund, on_delete=models.CASCADE, related_name="refund_line_items", verbose_name=gettext_lazy("refund")
    )
    line_item = models.ForeignKey(LineItem, on_delete=models.CASCADE, related_name="refund_line_items")
    quantity = models.PositiveIntegerField(gettext_lazy("quantity"))
    restock_type = models.CharField(
        gettext_lazy("restock type"), max_length=14, choices=RestockType, default=RestockType.NO_RESTOCK
    )
    location = models.ForeignKey(Location, on_delete=models.RESTRICT, null=True, blank=True, related_name="+")
    subtotal = MoneyColumn(help_text=gettext_lazy("The amount paid for the items, after all discounts."))
    total_tax = MoneyColumn()
    presentment_subtotal = PresentmentColumn()
    presentment_tax = PresentmentColumn()
    tax_lines = TaxLinesColumn()

    non_personal_fields = ("tax_lines",)

    class Meta:
        verbose_name = gettext_lazy("refund line item")
        verbose_name_plural = gettext_lazy("refund line items")
        ordering = ("id",)
        constraints = (
            models.CheckConstraint(
                condition=Q(quantity__gte=1, subtotal__gte=0, total_tax__gte=0),
                name="refunds_refundlineitem_has_units",
                violation_error_code="quantity",
            ),
        )

    def __str__(self) -> str:
        return f"{self.quantity} of line {self.line_item_id}"


class RefundShippingLine(ShopOwned):
    """A refunded part of a shipping line and of its tax."""

    refund = models.ForeignKey(
        Refund, on_delete=models.CASCADE, related_name="refund_shipping_lines", verbose_name=gettext_lazy("refund")
    )
    shipping_line = models.ForeignKey(ShippingLine, on_delete=models.CASCADE, related_name="+")
    amount = MoneyColumn()
    tax = MoneyColumn()
    presentment_amount = PresentmentColumn()
    presentment_tax = PresentmentColumn()
    tax_lines = TaxLinesColumn()

    non_personal_fields = ("tax_lines",)

    class Meta:
        verbose_name = gettext_lazy("refund shipping line")
        verbose_name_plural = gettext_lazy("refund shipping lines")
        ordering = ("id",)
        constraints = (
            models.CheckConstraint(
                condition=Q(amount__gte=0, tax__gte=0), name="refunds_refundshippingline_not_negative"
            ),
        )

    def __str__(self) -> str:
        return f"{self.amount:f} of shipping line {self.shipping_line_id}"


class RefundDuty(ShopOwned):
    """A refunded part of a duty (``LineItem.duties``) and of its taxes."""

    refund = models.ForeignKey(
        Refund, on_delete=models.CASCADE, related_name="duties", verbose_name=gettext_lazy("refund")
    )
    line_item = models.ForeignKey(LineItem, on_delete=models.CASCADE, related_name="+")
    duty_id = models.BigIntegerField(gettext_lazy("duty ID"))
    amount = MoneyColumn()
    tax = MoneyColumn()
    presentment_amount = PresentmentColumn()
    presentment_tax = PresentmentColumn()
    tax_lines = TaxLinesColumn()

    non_personal_fields = ("tax_lines",)

    class Meta:
        verbose_name = gettext_lazy("refund duty")
        verbose_name_plural = gettext_lazy("refund duties")
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(fields=("refund", "duty_id"), name="refunds_refundduty_once_in_a_refund"),
            models.CheckConstraint(condition=Q(amount__gte=0, tax__gte=0), name="refunds_refundduty_not_negative"),
        )

    def __str__(self) -> str:
        return f"{self.amount:f} of duty {self.duty_id}"


class OrderAdjustment(ShopOwned):
    """A refunded amount without items: refunded shipping, or a difference from the suggested refund.

    Refunded shipping and amounts refunded beyond the suggestion are negative; withheld amounts are positive.
    """

    class Kind(models.TextChoices):
        SHIPPING_REFUND = "shipping_refund", gettext_lazy("Shipping refund")
        REFUND_DISCREPANCY = "refund_discrepancy", gettext_lazy("Refund discrepancy")

    Reason = RefundReason

    refund = models.ForeignKey(
        Refund, on_delete=models.CASCADE, related_name="order_adjustments", verbose_name=gettext_lazy("refund")
    )
    kind = models.CharField(max_length=18, choices=Kind)
    amount = MoneyColumn()
    tax_amount = MoneyColumn()
    presentment_amount = PresentmentColumn()
    presentment_tax_amount = PresentmentColumn()
    reason = models.CharField(gettext_lazy("reason"), max_length=255)

    non_personal_fields = ("reason",)

    class Meta:
        verbose_name = gettext_lazy("order adjustment")
        verbose_name_plural = gettext_lazy("order adjustments")
        ordering = ("id",)

    def __str__(self) -> str:
        return f"{self.get_kind_display()} of {self.amount:f}"


class RefundPayment(ShopOwned):
    """The gateway call of a refund transaction.

    Attributes:
        key: The idempotency key for the gateway, so that repeated calls move money only once.
        asked_at: The time of the first call, saved before the call, so that a retry first looks up the key.
    """

    transaction = models.OneToOneField(
        Transaction,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="refund_payment",
        verbose_name=gettext_lazy("transaction"),
    )
    refund = models.ForeignKey(
        Refund, on_delete=models.CASCADE, related_name="transactions", verbose_name=gettext_lazy("refund")
    )
    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    asked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = gettext_lazy("refund payment")
        verbose_name_plural = gettext_lazy("refund payments")
        ordering = ("transaction",)

    def __str__(self) -> str:
        return f"{self.key}"


class BogusMovement(ShopOwned):
    """A refund recorded by the bogus gateway, in place of a real gateway's records."""

    key = models.UUIDField(unique=True)
    amount = MoneyColumn()
    currency = models.CharField(gettext_lazy("currency"), max_length=3)
    status = models.CharField(max_length=7, choices=Transaction.Status)
    message = models.CharField(max_length=1000, blank=True)

    non_personal_fields = ("currency", "message")

    class Meta:
        verbose_name = gettext_lazy("test gateway transaction")
        verbose_name_plural = gettext_lazy("test gateway transactions")
        ordering = ("id",)
        constraints = (models.CheckConstraint(condition=Q(amount__gt=0), name="refunds_bogusmovement_moves_something"),)

    def __str__(self) -> str:
        return f"{self.key}: {format_decimal(self.amount, self.currency)} {self.currency}"
