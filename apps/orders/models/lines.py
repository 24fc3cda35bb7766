from decimal import Decimal

from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Round, Upper
from django.db.models.lookups import GreaterThanOrEqual
from django.utils.translation import gettext_lazy

from apps.core.tenancy.shop_owned import ShopOwned
from apps.orders.models.bases import LineBase, MoneyColumn
from apps.orders.models.orders import Order


class LineItem(LineBase):
    """A line item of an order.

    ``quantity`` is the ordered quantity, and ``current_quantity`` excludes canceled and returned items.
    ``fulfillable_quantity`` is the quantity that still has to be fulfilled. ``fulfilled_quantity`` and
    ``refunded_quantity`` are the fulfilled and refunded quantities. ``unrestocked_quantity`` is the quantity that
    refunds without restocking subtracted from the current quantity: these items do not come back, and are still
    fulfilled. ``taken_from`` maps location ids to the quantities taken from stock. Items in fulfillment orders were
    taken from the location of the fulfillment order.

    ``duties`` is a list of the duties on the ordered quantity, each with ``id`` (used by refunds),
    ``harmonized_system_code``, ``country_code_of_origin``, ``price``, ``tax_lines`` and, after a refund,
    ``refunded_tax``. ``duty`` and ``duty_tax`` are the sums of the prices and taxes. ``refunded_duty`` and
    ``refunded_duty_tax`` are the refunded amounts.
    """

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="line_items", db_index=False)
    current_quantity = models.PositiveIntegerField()
    fulfillable_quantity = models.PositiveIntegerField()
    fulfilled_quantity = models.PositiveIntegerField(default=0)
    refunded_quantity = models.PositiveIntegerField(default=0, db_default=0)
    unrestocked_quantity = models.PositiveIntegerField(default=0, db_default=0)
    total_discount = MoneyColumn(help_text="The line item's own discount, without its share of order discounts.")
    duty = MoneyColumn(db_default=0)
    duty_tax = MoneyColumn(db_default=0)
    refunded_duty = MoneyColumn(db_default=0)
    refunded_duty_tax = MoneyColumn(db_default=0)
    duties = models.JSONField(default=list, db_default=Value([], models.JSONField()))
    variant_inventory_management = models.CharField(max_length=255, blank=True)
    taken_from = models.JSONField(default=dict)

    history_owners = ("order",)
    unrecorded_fields = (
        "position",
        "variant",
        "product",
        "name",
        "fulfillable_quantity",
        "fulfilled_quantity",
        "refunded_quantity",
        "unrestocked_quantity",
        "tax",
        "tax_lines",
        "duty",
        "duty_tax",
        "refunded_duty",
        "refunded_duty_tax",
        "duties",
        "discount_allocations",
        "taken_from",
    )
    non_personal_fields = (
        "title",
        "variant_title",
        "name",
        "sku",
        "vendor",
        "tax_lines",
        "duties",
        "discount_allocations",
        "fulfillment_service",
        "variant_inventory_management",
        "taken_from",
    )

    class Meta:
        verbose_name = gettext_lazy("line item")
        verbose_name_plural = gettext_lazy("line items")
        ordering = ("order", "position", "id")
        constraints = (
            models.CheckConstraint(
                condition=Q(quantity__gte=1), name="orders_lineitem_has_units", violation_error_code="quantity"
            ),
            models.CheckConstraint(
                condition=Q(
                    current_quantity__lte=F("quantity"),
                    fulfillable_quantity__lte=F("quantity") - F("fulfilled_quantity"),
                ),
                name="orders_lineitem_units_add_up",
                violation_error_code="quantity",
            ),
            models.CheckConstraint(
                condition=Q(
                    refunded_quantity__lte=F("quantity"),
                    current_quantity__lte=F("quantity") - F("refunded_quantity"),
                ),
                name="orders_lineitem_refunded_at_most_what_was_bought",
                violation_error_code="quantity",
            ),
            models.CheckConstraint(
                condition=Q(price__gte=0, discount__gte=0, tax__gte=0),
                name="orders_lineitem_amounts_not_negative",
                violation_error_code="price",
            ),
            models.CheckConstraint(
                condition=Q(
                    refunded_duty__gte=0,
                    refunded_duty__lte=F("duty"),
                    refunded_duty_tax__gte=0,
                    refunded_duty_tax__lte=F("duty_tax"),
                ),
                name="orders_lineitem_refunded_duties_at_most_what_was_paid",
                violation_error_code="duties",
            ),
        )
        indexes = (
            models.Index(fields=("order", "position", "id"), name="orders_lineitem_by_order"),
            models.Index("shop", Upper("sku"), "order", condition=~Q(sku=""), name="orders_lineitem_by_sku"),
        )

    @property
    def quantity_at_customer(self) -> int:
        """Return the quantity that was fulfilled and did not come back."""
        kept = self.current_quantity + self.unrestocked_quantity - self.fulfillable_quantity
        return min(max(kept, 0), self.fulfilled_quantity)


class ShippingLine(ShopOwned):
    """A shipping line of an order. ``discount`` and ``tax`` are the sums of the discount allocations and tax lines.

    ``refunded`` is the refunded part of the discounted price, and ``refunded_tax`` is the refunded part of the tax.
    """

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="shipping_lines")
    title = models.CharField(max_length=255)
    code = models.CharField(max_length=255, blank=True)
    source = models.CharField(max_length=255, blank=True)
    carrier_identifier = models.CharField(max_length=255, blank=True)
    phone = models.CharField(max_length=50, blank=True)
    price = MoneyColumn()
    discount = MoneyColumn()
    tax = MoneyColumn()
    refunded = MoneyColumn(db_default=0)
    refunded_tax = MoneyColumn(db_default=0)
    tax_lines = models.JSONField(default=list)
    discount_allocations = models.JSONField(default=list)
    is_removed = models.BooleanField(default=False)

    history_owners = ("order",)
    unrecorded_fields = ("tax", "tax_lines", "refunded", "refunded_tax", "discount_allocations")
    personal_fields = ("phone",)
    non_personal_fields = ("title", "code", "source", "carrier_identifier", "tax_lines", "discount_allocations")

    class Meta:
        verbose_name = gettext_lazy("shipping line")
        verbose_name_plural = gettext_lazy("shipping lines")
        ordering = ("id",)
        constraints = (
            models.CheckConstraint(
                condition=Q(price__gte=0, discount__gte=0, tax__gte=0, discount__lte=F("price")),
                name="orders_shippingline_discount_at_most_its_price",
                violation_error_code="price",
            ),
            models.CheckConstraint(
                # SQLite has no exact decimals, so the difference is rounded.
                condition=Q(
                    GreaterThanOrEqual(Round(F("price") - F("discount") - F("refunded"), precision=3), 0),
                    refunded__gte=0,
                    refunded_tax__gte=0,
                    refunded_tax__lte=F("tax"),
                ),
                name="orders_shippingline_refunded_at_most_its_price",
                violation_error_code="price",
            ),
        )

    def __str__(self) -> str:
        return self.title

    @property
    def history_label(self) -> str:
        return self.title

    @property
    def net_price(self) -> Decimal:
        return self.price - self.discount
