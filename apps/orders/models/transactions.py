from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.i18n.messages import Amount, Message, define_message, define_text
from apps.core.money import format_decimal
from apps.core.tenancy.shop_owned import ShopOwned
from apps.orders.models.bases import MoneyColumn
from apps.orders.models.orders import Order

# A tender transaction is a successful transaction that moved money, unlike an authorization.
MOVED_MONEY = Q(kind__in=("capture", "refund", "sale"), status="success")


class Transaction(ShopOwned):
    """A movement of money, or an attempt to move money. The amount never changes.

    ``amount`` is in ``currency``, which is the order's currency or the presentment currency. ``shop_amount`` is the
    amount converted to the order's currency. ``unsettled`` is the part of an authorization that can still be captured,
    in ``currency``. ``refunded`` is the part of a payment that is refunded or reserved by pending refunds, so that no
    money is refunded twice.
    """

    class Kind(models.TextChoices):
        AUTHORIZATION = "authorization", pgettext_lazy("transaction", "Authorization")
        CAPTURE = "capture", pgettext_lazy("transaction", "Capture")
        SALE = "sale", pgettext_lazy("transaction", "Sale")
        VOID = "void", pgettext_lazy("transaction", "Void")
        REFUND = "refund", pgettext_lazy("transaction", "Refund")

    class Status(models.TextChoices):
        PENDING = "pending", pgettext_lazy("transaction", "Pending")
        SUCCESS = "success", pgettext_lazy("transaction", "Success")
        FAILURE = "failure", pgettext_lazy("transaction", "Failure")
        ERROR = "error", pgettext_lazy("transaction", "Error")

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="transactions", db_index=False)
    parent = models.ForeignKey("self", on_delete=models.CASCADE, null=True, blank=True, related_name="children")
    sequence = models.PositiveIntegerField(help_text="Counts the transactions of an order from 1.")
    kind = models.CharField(max_length=13, choices=Kind)
    status = models.CharField(max_length=7, choices=Status, default=Status.SUCCESS)
    gateway = models.CharField(max_length=255, default="manual")
    amount = MoneyColumn()
    currency = models.CharField(max_length=3)
    shop_amount = MoneyColumn()
    unsettled = MoneyColumn()
    refunded = MoneyColumn(db_default=0)
    authorization = models.CharField(max_length=255, blank=True)
    message = models.CharField(max_length=1000, blank=True)
    error_code = models.CharField(max_length=100, blank=True)
    receipt = models.JSONField(default=dict)
    source_name = models.CharField(max_length=255, blank=True)
    user_id = models.BigIntegerField(null=True, blank=True)
    test = models.BooleanField(default=False)
    processed_at = models.DateTimeField(default=timezone.now)

    personal_fields = ("authorization", "message", "error_code", "receipt")
    non_personal_fields = ("gateway", "currency", "source_name")

    class Meta:
        verbose_name = gettext_lazy("transaction")
        verbose_name_plural = gettext_lazy("transactions")
        ordering = ("order", "id")
        constraints = (
            models.UniqueConstraint(fields=("order", "sequence"), name="orders_transaction_sequence_is_unique"),
            models.CheckConstraint(
                condition=Q(amount__gte=0, shop_amount__gte=0, unsettled__gte=0),
                name="orders_transaction_amounts_not_negative",
                violation_error_code="amount",
            ),
            models.CheckConstraint(
                condition=Q(refunded__gte=0, refunded__lte=F("amount")),
                name="orders_transaction_refunded_at_most_what_was_paid",
                violation_error_code="amount",
            ),
        )
        indexes = (
            models.Index(fields=("order", "id"), name="orders_transaction_by_order"),
            models.Index(
                fields=("shop", "authorization"), condition=~Q(authorization=""), name="orders_transaction_by_code"
            ),
            # Staff must find failed refunds quickly, but they are rare among millions of transactions.
            models.Index(
                fields=("shop", "id"),
                condition=Q(kind="refund", status__in=("failure", "error")),
                name="orders_transaction_failed",
            ),
            # Tender transactions are listed by id and by time.
            models.Index(fields=("shop", "id"), condition=MOVED_MONEY, name="orders_tender_by_id"),
            models.Index(fields=("shop", "processed_at", "id"), condition=MOVED_MONEY, name="orders_tender_by_time"),
        )

    def __str__(self) -> str:
        return self.event_label.localize()

    @property
    def event_label(self) -> Message:
        amount = Amount(format_decimal(self.amount, self.currency), self.currency)
        return _EVENT_LABEL(kind=KIND_TEXTS[self.kind], amount=amount)


KIND_TEXTS = {
    kind.value: define_text(f"transaction.kind.{kind.value}", kind.name.capitalize(), kind.label)
    for kind in Transaction.Kind
}
STATUS_TEXTS = {
    status.value: define_text(f"transaction.status.{status.value}", status.name.capitalize(), status.label)
    for status in Transaction.Status
}
_EVENT_LABEL = define_message("orders.transaction", "{kind} of {amount}")
