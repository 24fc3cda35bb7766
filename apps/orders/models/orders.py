import secrets
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, Self

from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Upper
from django.utils import timezone
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.models import TimestampedQuerySet, VersionField, create_shop_manager
from apps.core.tenancy.models import App
from apps.core.tenancy.shop_owned import ShopOwned
from apps.customers.models import Customer
from apps.orders.models.bases import MoneyColumn, OrderBase

if TYPE_CHECKING:
    from apps.core.models import ShopManager

FIRST_NAME = 1001

# The columns that clients and staff can change with ``update_order``.
EDITABLE = (
    "email",
    "phone",
    "buyer_accepts_marketing",
    "billing_address",
    "shipping_address",
    "note",
    "note_attributes",
    "tags",
    "po_number",
)
# The columns that are set from a new order's input. Other columns are calculated or set later.
ACCEPTED = (
    *EDITABLE,
    "browser_ip",
    "client_details",
    "taxes_included",
    "tax_exempt",
    "total_tip_received",
    "source_name",
    "source_identifier",
    "source_url",
    "reference",
    "landing_site",
    "referring_site",
    "customer_locale",
    "inventory_behaviour",
    "test",
)


def new_token() -> str:
    """Return 128 random bits as hex, the secret part of an order's status page URL."""
    return secrets.token_hex(16)


def new_confirmation_number() -> str:
    """Return nine letters and digits that are easy to dictate, without characters that look similar."""
    return "".join(secrets.choice("ABCDEFGHJKLMNPQRSTUVWXYZ23456789") for _ in range(9))


def get_outstanding(total: Decimal, net_payment: Decimal, *, is_cancelled: bool) -> Decimal:
    """Return the balance due. Customers owe nothing for a canceled order, but the shop may owe them money."""
    balance = total - net_payment
    return min(balance, Decimal(0)) if is_cancelled else balance


# Orders for which the shop owes the customer money. ``Order.outstanding`` is negative.
OWED_TO_CUSTOMERS = Q(total_paid__gt=F("total_refunded") + F("current_total_price"))


class OrderCounter(ShopOwned):
    """The number of the shop's newest order. The row is locked during order creation, so that numbers have no gaps."""

    last_number = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("shop",), name="orders_ordercounter_one_per_shop"),)

    def __str__(self) -> str:
        return f"#{self.last_number + FIRST_NAME - 1}"


class Order(OrderBase):
    """An order, the aggregate root of its lines, shipping lines and transactions.

    Amounts are in ``currency``. The customer saw the amounts in ``presentment_currency``. One unit of ``currency`` is
    ``exchange_rate`` units of ``presentment_currency``. ``total_…`` columns contain the amounts as ordered, and
    ``current_…`` columns exclude canceled and returned items. The three statuses are derived from other columns and
    rows (``domain.statuses``) and stored for filters. Addresses are snapshots, so an order does not change when the
    customer moves.
    """

    class Status(models.TextChoices):
        OPEN = "open", pgettext_lazy("order", "Open")
        CLOSED = "closed", pgettext_lazy("order", "Closed")
        CANCELLED = "cancelled", pgettext_lazy("order", "Canceled")

    class FinancialStatus(models.TextChoices):
        PENDING = "pending", gettext_lazy("Payment pending")
        AUTHORIZED = "authorized", gettext_lazy("Authorized")
        PARTIALLY_PAID = "partially_paid", gettext_lazy("Partially paid")
        PAID = "paid", gettext_lazy("Paid")
        PARTIALLY_REFUNDED = "partially_refunded", gettext_lazy("Partially refunded")
        REFUNDED = "refunded", gettext_lazy("Refunded")
        VOIDED = "voided", gettext_lazy("Voided")

    class FulfillmentStatus(models.TextChoices):
        UNFULFILLED = "", gettext_lazy("Unfulfilled")
        PARTIAL = "partial", gettext_lazy("Partially fulfilled")
        FULFILLED = "fulfilled", gettext_lazy("Fulfilled")
        RESTOCKED = "restocked", gettext_lazy("Restocked")

    class CancelReason(models.TextChoices):
        CUSTOMER = "customer", gettext_lazy("The customer changed their mind")
        FRAUD = "fraud", gettext_lazy("Fraud")
        INVENTORY = "inventory", gettext_lazy("Out of stock")
        DECLINED = "declined", gettext_lazy("Payment declined")
        STAFF = "staff", gettext_lazy("Staff error")
        OTHER = "other", gettext_lazy("Another reason")

    class InventoryBehaviour(models.TextChoices):
        BYPASS = "bypass", gettext_lazy("Do not change inventory")
        IGNORE_POLICY = "decrement_ignoring_policy", gettext_lazy("Reduce inventory, even below zero")
        OBEY_POLICY = "decrement_obeying_policy", gettext_lazy("Reduce inventory according to each variant's policy")

    number = models.PositiveBigIntegerField(editable=False)
    name = models.CharField(gettext_lazy("order"), max_length=64, editable=False)
    token = models.CharField(max_length=32, default=new_token, unique=True, editable=False)
    confirmation_number = models.CharField(max_length=9, default=new_confirmation_number, editable=False)

    customer = models.ForeignKey(
        Customer,
        on_delete=models.RESTRICT,
        null=True,
        blank=True,
        related_name="orders",
        db_index=False,
        verbose_name=gettext_lazy("customer"),
    )
    phone = models.CharField(gettext_lazy("phone"), max_length=50, blank=True)
    buyer_accepts_marketing = models.BooleanField(default=False)
    browser_ip = models.GenericIPAddressField(null=True, blank=True, editable=False)
    client_details = models.JSONField(null=True, blank=True, editable=False)

    status = models.CharField(gettext_lazy("status"), max_length=9, choices=Status, default=Status.OPEN, editable=False)
    financial_status = models.CharField(
        gettext_lazy("financial status"),
        max_length=18,
        choices=FinancialStatus,
        default=FinancialStatus.PENDING,
        editable=False,
    )
    fulfillment_status = models.CharField(
        gettext_lazy("fulfillment status"), max_length=9, choices=FulfillmentStatus, blank=True, editable=False
    )
    processed_at = models.DateTimeField(gettext_lazy("order date"), default=timezone.now, editable=False)
    cancelled_at = models.DateTimeField(gettext_lazy("cancelled at"), null=True, blank=True, editable=False)
    cancel_reason = models.CharField(max_length=9, choices=CancelReason, blank=True, editable=False)
    closed_at = models.DateTimeField(null=True, blank=True, editable=False)
    redacted_at = models.DateTimeField(null=True, blank=True, editable=False)

    tax_exempt = models.BooleanField(default=False, editable=False)
    duties_included = models.BooleanField(default=False, editable=False)
    estimated_taxes = models.BooleanField(default=False, editable=False)
    total_duties = MoneyColumn(db_default=0)
    total_tip_received = MoneyColumn()
    current_subtotal_price = MoneyColumn()
    current_total_discounts = MoneyColumn()
    current_total_tax = MoneyColumn()
    current_total_duties = MoneyColumn(db_default=0)
    current_total_price = MoneyColumn()
    total_paid = MoneyColumn(help_text="Successful sales and captures.")
    total_refunded = MoneyColumn(help_text="Successful refunds.")
    total_removed = MoneyColumn(db_default=0, help_text="The price of items removed without a refund, with taxes.")
    refund_discrepancy = MoneyColumn(
        db_default=0, help_text="The amount withheld by refunds; negative if refunds exceeded the price."
    )
    presentment_totals = models.JSONField(
        default=dict,
        db_default=Value({}, models.JSONField()),
        editable=False,
        help_text="The amounts of the columns above in the presentment currency, unless it is the order's currency.",
    )
    discount_codes = models.JSONField(default=list, editable=False)
    current_tax_lines = models.JSONField(
        null=True,
        editable=False,
        help_text="The taxes without canceled and returned items, or null if they are equal to the tax lines.",
    )
    payment_gateway_names = models.JSONField(default=list, editable=False)

    po_number = models.CharField(gettext_lazy("PO number"), max_length=255, blank=True)
    app = models.ForeignKey(
        App, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False, editable=False
    )
    source_name = models.CharField(max_length=255, blank=True, editable=False)
    source_identifier = models.CharField(max_length=255, blank=True, editable=False)
    source_url = models.CharField(max_length=2048, blank=True, editable=False)
    reference = models.CharField(max_length=255, blank=True, editable=False)
    landing_site = models.CharField(max_length=2048, blank=True, editable=False)
    referring_site = models.CharField(max_length=2048, blank=True, editable=False)
    customer_locale = models.CharField(max_length=20, blank=True, editable=False)
    inventory_behaviour = models.CharField(
        max_length=25, choices=InventoryBehaviour, default=InventoryBehaviour.BYPASS, editable=False
    )
    test = models.BooleanField(pgettext_lazy("order", "test"), default=False, editable=False)
    units_counted = models.BooleanField(
        default=False, editable=False, help_text="Whether the items are counted in best-selling lists."
    )
    version = VersionField()

    personal_fields = (
        "email",
        "phone",
        "billing_address",
        "shipping_address",
        "browser_ip",
        "client_details",
        "note",
        "note_attributes",
        "tags",
        "po_number",
        "source_identifier",
        "source_url",
        "reference",
        "landing_site",
        "referring_site",
    )
    non_personal_fields = (
        "name",
        "token",
        "confirmation_number",
        "currency",
        "presentment_currency",
        "presentment_totals",
        "discount_codes",
        "discount_applications",
        "tax_lines",
        "current_tax_lines",
        "payment_gateway_names",
        "source_name",
        "customer_locale",
    )

    class Meta:
        verbose_name = gettext_lazy("order")
        verbose_name_plural = gettext_lazy("orders")
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(fields=("shop", "number"), name="orders_order_number_is_unique"),
            models.CheckConstraint(
                condition=Q(total_price__gte=0, subtotal_price__gte=0, total_tax__gte=0, total_discounts__gte=0),
                name="orders_order_totals_not_negative",
                violation_error_code="total_price",
            ),
            models.CheckConstraint(
                condition=Q(total_paid__gte=0, total_refunded__gte=0, total_refunded__lte=models.F("total_paid")),
                name="orders_order_refunds_at_most_what_was_paid",
                violation_error_code="total_price",
            ),
            models.CheckConstraint(condition=Q(exchange_rate__gt=0), name="orders_order_rate_is_positive"),
            models.CheckConstraint(
                condition=(
                    Q(status="cancelled", cancelled_at__isnull=False)
                    | Q(status="closed", cancelled_at=None, closed_at__isnull=False)
                    | Q(status="open", cancelled_at=None, closed_at=None)
                ),
                name="orders_order_status_fits_its_moments",
            ),
        )
        indexes = (
            models.Index(fields=("shop", "id"), name="orders_order_by_shop"),
            models.Index(fields=("shop", "status", "id"), name="orders_order_by_status"),
            models.Index(fields=("shop", "financial_status", "id"), name="orders_order_by_payment"),
            models.Index(fields=("shop", "fulfillment_status", "id"), name="orders_order_by_fulfillment"),
            # Two statuses can each be common but rare in combination, so the combinations need indexes.
            models.Index(fields=("shop", "status", "financial_status", "id"), name="orders_order_by_debt"),
            models.Index(fields=("shop", "status", "fulfillment_status", "id"), name="orders_order_by_work"),
            models.Index(fields=("shop", "id"), condition=Q(test=True), name="orders_order_tests"),
            models.Index(fields=("shop", "id"), condition=OWED_TO_CUSTOMERS, name="orders_order_owed"),
            # The panel lists open orders by default. These indexes are small, because only a few orders are open.
            models.Index(
                fields=("shop", "processed_at", "id"),
                condition=Q(status="open"),
                name="orders_order_open_by_date",
            ),
            models.Index(
                fields=("shop", "total_price", "id"), condition=Q(status="open"), name="orders_order_open_by_total"
            ),
            models.Index(fields=("shop", "customer", "id"), name="orders_order_by_customer"),
            models.Index(fields=("customer", "processed_at", "id"), name="orders_order_of_customer_last"),
            models.Index(fields=("shop", "name"), name="orders_order_by_name"),
            models.Index(fields=("shop", "email"), name="orders_order_by_email"),
            models.Index(fields=("shop", "created_at", "id"), name="orders_order_by_creation"),
            models.Index(fields=("shop", "updated_at", "id"), name="orders_order_by_update"),
            models.Index(fields=("shop", "processed_at", "id"), name="orders_order_by_processing"),
            models.Index(fields=("shop", "total_price", "id"), name="orders_order_by_total"),
            models.Index(fields=("shop", "app", "id"), name="orders_order_by_app"),
            models.Index(
                "shop", Upper("source_name"), "id", condition=~Q(source_name=""), name="orders_order_by_channel"
            ),
        )

    def set_presentment(self, **amounts: Decimal) -> None:
        """Set amounts in the presentment currency, unless it is the order's currency."""
        if self.is_multi_currency:
            texts = {column: str(amount) for column, amount in amounts.items()}
            self.presentment_totals = {**self.presentment_totals, **texts}

    @property
    def net_payment(self) -> Decimal:
        return self.total_paid - self.total_refunded

    @property
    def outstanding(self) -> Decimal:
        """Return the balance due, which is negative if the shop owes the customer money. See ``get_outstanding``."""
        return get_outstanding(self.current_total_price, self.net_payment, is_cancelled=self.cancelled_at is not None)

    @property
    def presentment_outstanding(self) -> Decimal:
        """Return the balance due in the presentment currency."""
        net_payment = self.get_presentment("total_paid") - self.get_presentment("total_refunded")
        total = self.get_presentment("current_total_price")
        return get_outstanding(total, net_payment, is_cancelled=self.cancelled_at is not None)


class _OpenManager(models.Manager["OpenOrder"]):
    def get_queryset(self) -> "models.QuerySet[OpenOrder]":
        return super().get_queryset().filter(status=Order.Status.OPEN)


class OpenOrder(Order):
    """A proxy model for open orders, so that the SQL of the default list is compiled only once."""

    objects: "ClassVar[ShopManager[Self]]" = create_shop_manager(TimestampedQuerySet, _OpenManager)

    class Meta:
        proxy = True


class Comment(ShopOwned):
    """A staff comment on an order's timeline. It is deleted when personal data is erased."""

    LONGEST = 5000

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="comments")
    body = models.TextField(max_length=LONGEST)
    actor = models.CharField(max_length=100)

    personal_fields = ("body",)
    non_personal_fields = ("actor",)

    class Meta:
        verbose_name = gettext_lazy("comment")
        verbose_name_plural = gettext_lazy("comments")
        ordering = ("id",)

    def __str__(self) -> str:
        return f"Comment on {self.order_id}"
