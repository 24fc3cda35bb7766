from datetime import datetime
from decimal import Decimal
from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy, pgettext_lazy
from django_stubs_ext import StrOrPromise

from apps.catalog.models import Collection, Product, Variant
from apps.core.i18n.error_messages import BLANK, at_least, at_most
from apps.core.models import VersionField
from apps.core.tenancy.shop_owned import ShopOwned
from apps.customers.models import Customer
from apps.orders.models import MoneyColumn
from apps.shops.models import ShopCountry


def _nullable_amount(label: StrOrPromise) -> "models.DecimalField[Decimal | None, Decimal | None]":
    """Return a column for an amount in the shop currency."""
    return models.DecimalField(label, max_digits=20, decimal_places=3, null=True, blank=True)


def _nullable_count(label: StrOrPromise) -> "models.PositiveIntegerField[int | None, int | None]":
    return models.PositiveIntegerField(label, null=True, blank=True)


class PriceRule(ShopOwned):
    """The conditions and the value of a discount. Customers get the discount with one of the rule's codes.

    ``value`` is negative: an amount in the shop currency, or a percentage. The prerequisites are minimums for the
    entitled items, except ``prerequisite_shipping_price``, which is a maximum. With ``prerequisite_quantity_ratio`` or
    ``prerequisite_amount``, each such quantity or amount of the prerequisite items discounts
    ``entitled_quantity_ratio`` entitled items ("buy X, get Y").
    """

    class ValueType(models.TextChoices):
        PERCENTAGE = "percentage", gettext_lazy("Percentage")
        FIXED_AMOUNT = "fixed_amount", gettext_lazy("Fixed amount")

    class CustomerSelection(models.TextChoices):
        ALL = "all", gettext_lazy("All customers")
        PREREQUISITE = "prerequisite", gettext_lazy("Selected customers")

    class TargetType(models.TextChoices):
        LINE_ITEM = "line_item", gettext_lazy("Items")
        SHIPPING_LINE = "shipping_line", gettext_lazy("Shipping")

    class TargetSelection(models.TextChoices):
        ALL = "all", pgettext_lazy("discounted items", "All")
        ENTITLED = "entitled", pgettext_lazy("discounted items", "Selected")

    class AllocationMethod(models.TextChoices):
        ACROSS = "across", gettext_lazy("Once per order")
        EACH = "each", gettext_lazy("On each item")

    class State(models.TextChoices):
        ACTIVE = "active", gettext_lazy("Active")
        SCHEDULED = "scheduled", gettext_lazy("Scheduled")
        EXPIRED = "expired", gettext_lazy("Expired")
        USED_UP = "used_up", gettext_lazy("Used up")

    title = models.CharField(gettext_lazy("title"), max_length=255)
    value_type = models.CharField(pgettext_lazy("discount", "type"), max_length=12, choices=ValueType)
    value = MoneyColumn(gettext_lazy("value"))
    customer_selection = models.CharField(gettext_lazy("customers"), max_length=12, choices=CustomerSelection)
    target_type = models.CharField(gettext_lazy("applies to"), max_length=13, choices=TargetType)
    target_selection = models.CharField(gettext_lazy("items"), max_length=8, choices=TargetSelection)
    allocation_method = models.CharField(gettext_lazy("allocation"), max_length=6, choices=AllocationMethod)
    allocation_limit = _nullable_count(gettext_lazy("maximum number of discounted items or sets"))
    once_per_customer = models.BooleanField(gettext_lazy("once per customer"), default=False)
    usage_limit = _nullable_count(gettext_lazy("usage limit of each code"))
    starts_at = models.DateTimeField(gettext_lazy("start"))
    ends_at = models.DateTimeField(gettext_lazy("end"), null=True, blank=True)
    prerequisite_subtotal = _nullable_amount(gettext_lazy("minimum subtotal"))
    prerequisite_quantity = _nullable_count(gettext_lazy("minimum quantity"))
    prerequisite_shipping_price = _nullable_amount(gettext_lazy("maximum shipping price"))
    prerequisite_quantity_ratio = _nullable_count(gettext_lazy("quantity to buy"))
    entitled_quantity_ratio = _nullable_count(gettext_lazy("discounted quantity"))
    prerequisite_amount = _nullable_amount(gettext_lazy("amount to spend"))
    version = VersionField()

    non_personal_fields = (
        "title",
        "value_type",
        "customer_selection",
        "target_type",
        "target_selection",
        "allocation_method",
    )

    class Meta:
        verbose_name = gettext_lazy("discount")
        verbose_name_plural = gettext_lazy("discounts")
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=~Q(title=""),
                name="discounts_rule_has_title",
                violation_error_code="title",
                violation_error_message=BLANK,
            ),
            models.CheckConstraint(
                condition=Q(value__lte=0),
                name="discounts_rule_value_not_positive",
                violation_error_code="value",
                violation_error_message=at_most(0),
            ),
            models.CheckConstraint(
                condition=~Q(value_type="percentage") | Q(value__gte=-100),
                name="discounts_rule_percentage_in_range",
                violation_error_code="value",
                violation_error_message=at_least(-100),
            ),
            models.CheckConstraint(
                condition=Q(ends_at=None) | Q(ends_at__gt=F("starts_at")),
                name="discounts_rule_ends_after_start",
                violation_error_code="ends_at",
            ),
            *(
                models.CheckConstraint(
                    condition=Q(**{name: None}) | Q(**{f"{name}__gt": 0}),
                    name=f"discounts_rule_{short}_positive",
                    violation_error_code=name,
                    violation_error_message=at_least(1),
                )
                for name, short in {
                    "usage_limit": "usage_limit",
                    "allocation_limit": "allocation_limit",
                    "prerequisite_quantity_ratio": "ratio_prerequisite",
                    "entitled_quantity_ratio": "ratio_entitled",
                }.items()
            ),
            models.CheckConstraint(
                condition=(
                    (Q(prerequisite_subtotal=None) | Q(prerequisite_subtotal__gte=0))
                    & (Q(prerequisite_shipping_price=None) | Q(prerequisite_shipping_price__gte=0))
                    & (Q(prerequisite_amount=None) | Q(prerequisite_amount__gt=0))
                ),
                name="discounts_rule_prerequisites_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(allocation_limit=None) | Q(allocation_method="each"),
                name="discounts_rule_limit_needs_each",
                violation_error_code="allocation_limit",
            ),
            # A rule of the kind "buy X, get Y" has either a quantity or an amount, and the discounted quantity.
            models.CheckConstraint(
                condition=(
                    Q(prerequisite_quantity_ratio=None, entitled_quantity_ratio=None, prerequisite_amount=None)
                    | Q(
                        Q(prerequisite_quantity_ratio=None, prerequisite_amount__isnull=False)
                        | Q(prerequisite_quantity_ratio__isnull=False, prerequisite_amount=None),
                        entitled_quantity_ratio__isnull=False,
                        target_type="line_item",
                        target_selection="entitled",
                        allocation_method="each",
                    )
                ),
                name="discounts_rule_ratio_is_complete",
                violation_error_code="prerequisite_to_entitlement_quantity_ratio",
            ),
        )
        indexes = (
            models.Index(fields=("shop", "id"), name="discounts_rule_by_shop"),
            models.Index(fields=("shop", "starts_at"), name="discounts_rule_by_start"),
        )

    def __str__(self) -> str:
        return self.title

    @property
    def is_buy_x_get_y(self) -> bool:
        return self.entitled_quantity_ratio is not None

    def get_state(self, at: datetime) -> "PriceRule.State":
        """Return the state without regard to the uses of codes."""
        if self.starts_at > at:
            return self.State.SCHEDULED
        return self.State.EXPIRED if self.ends_at is not None and self.ends_at <= at else self.State.ACTIVE


class PriceRuleItem(ShopOwned):
    """A product, variant, collection, country or customer that a price rule selects.

    An entitled item gets the discount. A prerequisite item or customer is needed for the discount.
    """

    class Role(models.TextChoices):
        ENTITLED = "entitled"
        PREREQUISITE = "prerequisite"

    rule = models.ForeignKey(PriceRule, on_delete=models.CASCADE, related_name="items", db_index=False)
    role = models.CharField(max_length=12, choices=Role)
    product = models.ForeignKey(Product, on_delete=models.CASCADE, null=True, related_name="+")
    variant = models.ForeignKey(Variant, on_delete=models.CASCADE, null=True, related_name="+")
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, null=True, related_name="+")
    country = models.ForeignKey(ShopCountry, on_delete=models.CASCADE, null=True, related_name="+")
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, null=True, related_name="+")

    history_owners = ("rule",)
    non_personal_fields = ("role",)

    LINKS: ClassVar = ("product", "variant", "collection", "country", "customer")

    class Meta:
        verbose_name = gettext_lazy("condition of a discount")
        verbose_name_plural = gettext_lazy("conditions of discounts")
        ordering = ("id",)
        constraints = (
            models.CheckConstraint(
                condition=(
                    Q(product__isnull=False, variant=None, collection=None, country=None, customer=None)
                    | Q(product=None, variant__isnull=False, collection=None, country=None, customer=None)
                    | Q(product=None, variant=None, collection__isnull=False, country=None, customer=None)
                    | Q(product=None, variant=None, collection=None, country__isnull=False, customer=None)
                    | Q(product=None, variant=None, collection=None, country=None, customer__isnull=False)
                ),
                name="discounts_item_has_one_link",
            ),
            models.CheckConstraint(
                condition=Q(country=None) | Q(role="entitled"), name="discounts_item_country_is_entitled"
            ),
            models.CheckConstraint(
                condition=Q(customer=None) | Q(role="prerequisite"), name="discounts_item_customer_is_prerequisite"
            ),
            *(
                models.UniqueConstraint(fields=("rule", "role", name), name=f"discounts_item_{name}_once")
                for name in ("product", "variant", "collection", "country", "customer")
            ),
        )

    def __str__(self) -> str:
        link = next(name for name in self.LINKS if getattr(self, f"{name}_id") is not None)
        return f"{self.role} {link} {getattr(self, f'{link}_id')}"
