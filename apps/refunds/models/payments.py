"""Gateway details of refund transactions."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.core.money import format_decimal
from apps.core.tenancy.shop_owned import ShopOwned
from apps.orders.models import Transaction
from apps.orders.models.orders import MoneyColumn
from apps.refunds.models.refunds import Refund


class RefundPayment(ShopOwned):
    """The gateway call of a refund transaction.

    Attributes:
        key: The idempotency key for the gateway, so that repeated calls move money only once.
        asked_at: The time of the first gateway call. It is saved before the call, so that a retry after a crash first
            looks up the key.
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
