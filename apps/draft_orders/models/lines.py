from decimal import Decimal

from django.db import models
from django.db.models import Model, Q, QuerySet
from django.db.models.deletion import Collector
from django.utils.translation import gettext_lazy

from apps.catalog.models import Product, Variant
from apps.core.tenancy.shop_owned import ShopOwned
from apps.draft_orders.models.draft_orders import DraftOrder
from apps.orders.models.orders import MoneyColumn


def forget(
    collector: Collector,
    field: "models.ForeignKey[Model | None]",
    rows: "QuerySet[DraftOrderLine, DraftOrderLine]",
    using: str,
) -> None:
    """Clear the deleted product or variant of lines, and increase the versions of the draft orders.

    The panel's deletion preview uses a subclass of ``Collector``, so a preview does not change the draft orders.
    """
    collector.add_field_update(field, None, rows)
    if type(collector) is Collector:
        DraftOrder.objects.filter(pk__in=rows.order_by().values("draft_order_id")).update()


# A product may be on too many lines to load into memory or to list in one statement, so Django must not load them.
forget.lazy_sub_objs = True  # type: ignore[attr-defined]


class DraftOrderLine(ShopOwned):
    """A line of a draft order: a snapshot of a variant at the time it was added, or a custom item.

    ``applied_discount`` is null or as in ``DraftOrder``. A fixed amount is per unit. ``discount`` is the sum of the
    line's ``discount_allocations`` and ``tax`` the sum of its ``tax_lines``.
    """

    draft_order = models.ForeignKey(DraftOrder, on_delete=models.CASCADE, related_name="line_items", db_index=False)
    position = models.PositiveIntegerField(default=0)
    variant = models.ForeignKey(Variant, on_delete=forget, null=True, blank=True, related_name="+")
    product = models.ForeignKey(Product, on_delete=forget, null=True, blank=True, related_name="+")
    title = models.CharField(max_length=255)
    variant_title = models.CharField(max_length=800, blank=True)
    name = models.CharField(max_length=1100)
    sku = models.CharField("SKU", max_length=255, blank=True)
    vendor = models.CharField(max_length=255, blank=True)
    grams = models.PositiveBigIntegerField(default=0)
    price = MoneyColumn(help_text="The price of one item, without discounts.")
    quantity = models.PositiveIntegerField()
    applied_discount = models.JSONField(null=True, blank=True)
    discount = MoneyColumn(help_text="All discounts of the line.")
    tax = MoneyColumn(help_text="All taxes of the line.")
    tax_lines = models.JSONField(default=list)
    discount_allocations = models.JSONField(default=list)
    properties = models.JSONField(default=list)
    requires_shipping = models.BooleanField(default=True)
    taxable = models.BooleanField(default=True)
    gift_card = models.BooleanField(default=False)
    fulfillment_service = models.CharField(max_length=255, default="manual")

    history_owners = ("draft_order",)
    unrecorded_fields = ("position", "variant", "product", "name", "tax", "tax_lines", "discount_allocations")
    personal_fields = ("properties",)
    non_personal_fields = (
        "title",
        "variant_title",
        "name",
        "sku",
        "vendor",
        "applied_discount",
        "tax_lines",
        "discount_allocations",
        "fulfillment_service",
    )

    class Meta:
        verbose_name = gettext_lazy("draft order line")
        verbose_name_plural = gettext_lazy("draft order lines")
        ordering = ("draft_order", "position", "id")
        constraints = (
            models.CheckConstraint(
                condition=Q(quantity__gte=1), name="draft_orders_line_has_units", violation_error_code="quantity"
            ),
            models.CheckConstraint(
                condition=Q(price__gte=0, discount__gte=0, tax__gte=0),
                name="draft_orders_line_amounts_not_negative",
                violation_error_code="price",
            ),
        )
        indexes = (models.Index(fields=("draft_order", "position", "id"), name="draft_orders_line_by_draft"),)

    def __str__(self) -> str:
        return f"{self.quantity} × {self.name}"

    @property
    def history_label(self) -> str:
        return self.name

    @property
    def gross_price(self) -> Decimal:
        return self.price * self.quantity

    @property
    def net_price(self) -> Decimal:
        return self.gross_price - self.discount
