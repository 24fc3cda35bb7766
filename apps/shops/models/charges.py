"""Recurring charges of apps and the usage charges within them. The rows are records: no money is debited."""

from datetime import date, timedelta
from decimal import Decimal

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.core.i18n.error_messages import at_least
from apps.core.money import ZERO
from apps.core.tenancy.models.apps import Installation
from apps.core.tenancy.shop_owned import ShopOwned

BILLING_PERIOD = timedelta(days=30)


class RecurringCharge(ShopOwned):
    """A charge that recurs every 30 days, which an app requests and the shop approves or declines.

    ``capped_amount`` limits the usage charges of a billing period; without it, there are none. ``balance_used`` is
    their sum in the period that began on ``balance_period``. The shop must approve ``requested_capped_amount``.
    """

    class Status(models.TextChoices):
        PENDING = "pending", gettext_lazy("Waiting for approval")
        ACTIVE = "active", gettext_lazy("Approved")
        DECLINED = "declined", gettext_lazy("Declined")
        EXPIRED = "expired", gettext_lazy("Expired")
        CANCELLED = "cancelled", gettext_lazy("Canceled")

    installation = models.ForeignKey(Installation, on_delete=models.CASCADE, related_name="recurring_charges")
    name = models.CharField(max_length=255)
    price = models.DecimalField(max_digits=15, decimal_places=3)
    currency = models.CharField(max_length=3)
    status = models.CharField(max_length=9, choices=Status, default=Status.PENDING, editable=False)
    test = models.BooleanField(default=False)
    return_url = models.URLField(max_length=2048, blank=True)
    trial_days = models.PositiveSmallIntegerField(default=0)
    terms = models.CharField(max_length=1000, blank=True)
    capped_amount = models.DecimalField(max_digits=15, decimal_places=3, null=True)
    requested_capped_amount = models.DecimalField(max_digits=15, decimal_places=3, null=True)
    balance_used = models.DecimalField(max_digits=15, decimal_places=3, default=0)
    balance_period = models.DateField(null=True)
    activated_on = models.DateField(null=True)
    cancelled_on = models.DateField(null=True)

    non_personal_fields = ("name", "currency", "return_url", "terms")

    class Meta:
        verbose_name = gettext_lazy("recurring charge")
        verbose_name_plural = gettext_lazy("recurring charges")
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=Q(price__gte=0, balance_used__gte=0),
                name="shops_recurringcharge_price_not_negative",
                violation_error_message=at_least(0),
                violation_error_code="price",
            ),
            models.UniqueConstraint(
                fields=("installation",),
                condition=Q(status="active"),
                name="shops_recurringcharge_one_active_per_installation",
            ),
        )
        indexes = (
            models.Index(fields=("created_at",), condition=Q(status="pending"), name="shops_recurring_waiting"),
            models.Index(fields=("shop", "id"), name="shops_recurringcharge_by_id"),
        )

    def __str__(self) -> str:
        return self.name


class UsageCharge(ShopOwned):
    recurring_charge = models.ForeignKey(
        RecurringCharge, on_delete=models.CASCADE, related_name="usage_charges", db_index=False
    )
    description = models.CharField(max_length=255)
    price = models.DecimalField(max_digits=15, decimal_places=3)
    currency = models.CharField(max_length=3)

    non_personal_fields = ("description", "currency")

    class Meta:
        verbose_name = gettext_lazy("usage charge")
        verbose_name_plural = gettext_lazy("usage charges")
        ordering = ("id",)
        constraints = (
            models.CheckConstraint(
                condition=Q(price__gt=0), name="shops_usagecharge_price_positive", violation_error_code="price"
            ),
        )
        indexes = (models.Index(fields=("recurring_charge", "id"), name="shops_usagecharge_by_charge"),)

    def __str__(self) -> str:
        return self.description


def get_period_start(activated_on: date, trial_days: int, today: date) -> date:
    """Return the first day of the billing period of a day. The trial is a period of its own."""
    first = activated_on + timedelta(days=trial_days)
    return activated_on if today < first else first + (today - first) // BILLING_PERIOD * BILLING_PERIOD


def get_current_usage(
    balance_used: Decimal, balance_period: date | None, activated_on: date | None, trial_days: int, today: date
) -> Decimal:
    """Return the usage in the billing period of a day."""
    if activated_on is None or balance_period != get_period_start(activated_on, trial_days, today):
        return ZERO
    return balance_used


def get_billing_date(activated_on: date, trial_days: int, today: date) -> date:
    """Return the next day on which a billing period begins, which can be today."""
    first = activated_on + timedelta(days=trial_days)
    return max(first, first - (first - today) // BILLING_PERIOD * BILLING_PERIOD)
