"""What orders and draft orders have in common."""

from decimal import Decimal
from typing import Any, cast

from django.db import models
from django.db.models import Model, QuerySet
from django.db.models.deletion import Collector
from django.utils.translation import gettext_lazy

from apps.catalog.models import Product, Variant
from apps.core.money import convert_amount
from apps.core.tenancy.shop_owned import ShopOwned


class MoneyColumn(models.DecimalField[Decimal, Decimal]):
    """A column for an exact amount in the order's currency. Three decimals are enough for every supported currency."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(
            *args, **{"max_digits": 20, "decimal_places": 3, "default": Decimal(0), "editable": False, **kwargs}
        )


class OrderBase(ShopOwned):
    """The contact details, currencies and amounts of an order or draft order. Amounts are in ``currency``."""

    # Orders and draft orders declare these columns differently.
    name: "models.CharField[str, str]"
    presentment_totals: "models.JSONField[Any, Any]"

    email = models.EmailField(gettext_lazy("email"), max_length=255, blank=True)
    billing_address = models.JSONField(gettext_lazy("billing address"), null=True, blank=True)
    shipping_address = models.JSONField(gettext_lazy("shipping address"), null=True, blank=True)
    note = models.TextField(gettext_lazy("note"), max_length=5000, blank=True)
    note_attributes = models.JSONField(default=list, blank=True)
    tags = models.TextField(gettext_lazy("tags"), blank=True, help_text=gettext_lazy("Separated by commas."))
    currency = models.CharField(max_length=3, editable=False)
    presentment_currency = models.CharField(max_length=3, editable=False)
    exchange_rate = models.DecimalField(max_digits=24, decimal_places=12, default=Decimal(1), editable=False)
    taxes_included = models.BooleanField(default=False, editable=False)
    total_line_items_price = MoneyColumn()
    total_discounts = MoneyColumn()
    subtotal_price = MoneyColumn()
    total_shipping_price = MoneyColumn()
    total_tax = MoneyColumn()
    total_price = MoneyColumn()
    total_weight = models.PositiveBigIntegerField(default=0, editable=False, help_text="Grams.")
    discount_applications = models.JSONField(default=list, editable=False)
    tax_lines = models.JSONField(default=list, editable=False)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name

    @property
    def is_multi_currency(self) -> bool:
        return self.presentment_currency != self.currency

    def to_presentment(self, amount: Decimal) -> Decimal:
        if not self.is_multi_currency:
            return amount
        return convert_amount(amount, self.exchange_rate, self.presentment_currency)

    def get_presentment(self, column: str) -> Decimal:
        """Return an amount of the order in the presentment currency."""
        amount = self.presentment_totals.get(column)
        return self.to_presentment(getattr(self, column)) if amount is None else Decimal(amount)


def forget(
    collector: Collector, field: "models.ForeignKey[Model | None]", rows: "QuerySet[LineBase, LineBase]", using: str
) -> None:
    """Clear the product or variant of lines when it is deleted, and increase the versions of the lines' orders.

    The panel's deletion preview uses a subclass of ``Collector``, so a preview does not change the orders.
    """
    collector.add_field_update(field, None, rows)
    if type(collector) is Collector:
        (owner,) = rows.model.history_owners
        orders = cast("type[ShopOwned]", rows.model._meta.get_field(owner).related_model)
        orders.objects.filter(pk__in=rows.order_by().values(f"{owner}_id")).update()


# A best seller may be on too many lines to load into memory or to list in one statement, so Django must not load them.
forget.lazy_sub_objs = True  # type: ignore[attr-defined]


class LineBase(ShopOwned):
    """An item of an order or draft order: a snapshot of a variant at the time it was added, or a custom item.

    ``tax_lines`` and ``discount_allocations`` contain amounts for the whole quantity. ``tax`` and ``discount`` are the
    sums of these amounts.
    """

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
    discount = MoneyColumn(help_text="All discounts of the line item.")
    tax = MoneyColumn(help_text="All taxes of the line item.")
    tax_lines = models.JSONField(default=list)
    discount_allocations = models.JSONField(default=list)
    properties = models.JSONField(default=list)
    requires_shipping = models.BooleanField(default=True)
    taxable = models.BooleanField(default=True)
    gift_card = models.BooleanField(default=False)
    fulfillment_service = models.CharField(max_length=255, default="manual")

    personal_fields = ("properties",)

    class Meta:
        abstract = True

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
