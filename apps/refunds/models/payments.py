"""What goes back to single payments, and how far it is."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.ground.money import text_of
from apps.ground.rows import ShopOwned
from apps.orders.models import Transaction
from apps.orders.models.orders import MoneyColumn
from apps.refunds.models.refunds import Refund


class RefundPayment(ShopOwned):
    """The side of a refund transaction that its gateway knows.

    Attributes:
        key: Names the movement towards the gateway, so that asking twice moves money once.
        asked_at: When the gateway was first asked; set before it is, so that whoever comes after a crash looks first.
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
    """What the bogus gateway remembers having moved: its books stand for those of a company elsewhere."""

    key = models.UUIDField(unique=True)
    amount = MoneyColumn()
    currency = models.CharField(gettext_lazy("currency"), max_length=3)
    status = models.CharField(max_length=7, choices=Transaction.Status)
    message = models.CharField(max_length=1000, blank=True)

    class Meta:
        verbose_name = gettext_lazy("bogus movement")
        verbose_name_plural = gettext_lazy("bogus movements")
        ordering = ("id",)
        constraints = (models.CheckConstraint(condition=Q(amount__gt=0), name="refunds_bogusmovement_moves_something"),)

    def __str__(self) -> str:
        return f"{self.key}: {text_of(self.amount, self.currency)} {self.currency}"
