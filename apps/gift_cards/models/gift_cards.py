from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.i18n.error_messages import TAKEN
from apps.core.i18n.messages import Message, define_message
from apps.core.models import VersionField
from apps.core.tenancy.models import App
from apps.core.tenancy.shop_owned import ShopOwned
from apps.customers.models import Customer
from apps.orders.models import MoneyColumn, Transaction

MAX_MESSAGE = 1000
_EVENT_LABEL = define_message("gift_cards.label", "Gift card ending in {characters}")


class GiftCard(ShopOwned):
    """A gift card. The code is not stored, only a keyed digest and the last characters.

    The digest of a card from another system is null until its code is known (``gift_cards.set_code``).

    ``balance`` is the sum of the amounts of all adjustments. The first adjustment is the initial value. ``recipient``
    is the customer who gets the code by email, with the ``message``, at once or at ``send_at``.
    """

    code_digest = models.CharField(max_length=64, null=True, editable=False)
    last_characters = models.CharField(gettext_lazy("last characters"), max_length=4, editable=False)
    initial_value = MoneyColumn(gettext_lazy("initial value"))
    balance = MoneyColumn(gettext_lazy("balance"))
    currency = models.CharField(max_length=3, editable=False)
    expires_on = models.DateField(gettext_lazy("expiry date"), null=True, blank=True)
    note = models.TextField(gettext_lazy("note"), max_length=5000, blank=True)
    template_suffix = models.CharField(max_length=255, blank=True)
    customer = models.ForeignKey(
        Customer,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="gift_cards",
        verbose_name=gettext_lazy("customer"),
    )
    recipient = models.ForeignKey(
        Customer,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="received_gift_cards",
        verbose_name=gettext_lazy("recipient"),
    )
    message = models.TextField(gettext_lazy("message"), max_length=MAX_MESSAGE, blank=True, default="", db_default="")
    send_at = models.DateTimeField(gettext_lazy("send on"), null=True, blank=True, editable=False)
    disabled_at = models.DateTimeField(null=True, blank=True, editable=False)
    app = models.ForeignKey(App, on_delete=models.SET_NULL, null=True, related_name="+", editable=False)
    user_id = models.BigIntegerField(null=True, blank=True, editable=False)
    version = VersionField()

    personal_fields = ("note", "message")
    non_personal_fields = ("code_digest", "last_characters", "currency", "template_suffix")
    unrecorded_fields = ("code_digest",)

    class Meta:
        verbose_name = gettext_lazy("gift card")
        verbose_name_plural = gettext_lazy("gift cards")
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                fields=("shop", "code_digest"),
                name="gift_cards_code_is_unique",
                violation_error_message=TAKEN,
                violation_error_code="code",
            ),
            models.CheckConstraint(
                condition=Q(balance__gte=0),
                name="gift_cards_balance_not_negative",
                violation_error_code="balance",
            ),
            models.CheckConstraint(
                condition=Q(initial_value__gt=0),
                name="gift_cards_initial_value_positive",
                violation_error_code="initial_value",
            ),
        )
        indexes = (
            models.Index(fields=("shop", "id"), name="gift_cards_by_shop"),
            models.Index(fields=("shop", "last_characters"), name="gift_cards_by_characters"),
        )

    def __str__(self) -> str:
        return self.event_label.localize()

    @property
    def event_label(self) -> Message:
        return _EVENT_LABEL(characters=self.last_characters)


class GiftCardAdjustment(ShopOwned):
    """A change to the balance of a gift card. Only notes are ever changed, when personal data is erased.

    ``number`` counts the adjustments of a card from 1, and ``balance`` is the card's balance after the adjustment.
    Number 1 is the initial value. ``transaction`` is the order transaction that changed the balance: a sale or an
    authorization (redemption), a void or an authorization that was captured in part (release), or a refund.
    """

    class Kind(models.TextChoices):
        ADJUSTMENT = "adjustment", pgettext_lazy("gift card", "Adjustment")
        REDEMPTION = "redemption", pgettext_lazy("gift card", "Redemption")
        RELEASE = "release", pgettext_lazy("gift card", "Release")
        REFUND = "refund", pgettext_lazy("gift card", "Refund")

    card = models.ForeignKey(GiftCard, on_delete=models.CASCADE, related_name="adjustments", db_index=False)
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.ADJUSTMENT, editable=False)
    transaction = models.ForeignKey(
        Transaction,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="gift_card_adjustments",
        db_index=False,
    )
    amount = MoneyColumn()
    balance = MoneyColumn()
    note = models.TextField(max_length=5000, blank=True)
    remote_transaction_ref = models.CharField(max_length=255, blank=True)
    remote_transaction_url = models.CharField(max_length=2048, blank=True)
    processed_at = models.DateTimeField(null=True, blank=True)
    app = models.ForeignKey(App, on_delete=models.SET_NULL, null=True, related_name="+", editable=False)
    user_id = models.BigIntegerField(null=True, blank=True, editable=False)

    history_owners = ("card",)
    personal_fields = ("note", "remote_transaction_ref", "remote_transaction_url")

    class Meta:
        verbose_name = gettext_lazy("gift card adjustment")
        verbose_name_plural = gettext_lazy("gift card adjustments")
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(fields=("card", "number"), name="gift_cards_adjustment_number_is_unique"),
            models.CheckConstraint(
                condition=~Q(amount=0), name="gift_cards_adjustment_not_zero", violation_error_code="amount"
            ),
            models.CheckConstraint(
                condition=Q(balance__gte=0),
                name="gift_cards_adjustment_balance_not_negative",
                violation_error_code="amount",
            ),
            models.CheckConstraint(
                condition=Q(number__gt=1) | Q(number=1, balance=F("amount"), kind="adjustment"),
                name="gift_cards_adjustment_begins_with_value",
                violation_error_code="amount",
            ),
            models.CheckConstraint(
                condition=Q(kind="adjustment", transaction=None)
                | Q(kind="redemption", amount__lt=0)
                | Q(kind__in=("release", "refund"), amount__gt=0),
                name="gift_cards_adjustment_fits_its_kind",
                violation_error_code="amount",
            ),
            models.UniqueConstraint(
                fields=("transaction", "kind"),
                condition=Q(transaction__isnull=False),
                name="gift_cards_adjustment_once_per_transaction",
            ),
        )
        indexes = (models.Index(fields=("card", "id"), name="gift_cards_adjustment_by_card"),)

    def __str__(self) -> str:
        return f"{self.card_id}.{self.number}"
