"""The kinds of discounts, and the fields and lists of the form that belong to each kind."""

from django.utils.translation import gettext_lazy

from apps.discounts.models import PriceRule

PERCENTAGE, FIXED_AMOUNT, FREE_SHIPPING, BUY_X_GET_Y = "percentage", "fixed_amount", "free_shipping", "buy_x_get_y"
KINDS = (
    (PERCENTAGE, gettext_lazy("Percentage")),
    (FIXED_AMOUNT, gettext_lazy("Fixed amount")),
    (FREE_SHIPPING, gettext_lazy("Free shipping")),
    (BUY_X_GET_Y, gettext_lazy("Buy X, get Y")),
)
# The fields of each kind. The template shows the same fields.
KIND_FIELDS = {
    PERCENTAGE: ("percentage", "target_selection"),
    FIXED_AMOUNT: ("amount", "is_each", "target_selection"),
    FREE_SHIPPING: ("prerequisite_shipping_price",),
    BUY_X_GET_Y: (
        *("percentage", "prerequisite_quantity_ratio", "prerequisite_amount"),
        *("entitled_quantity_ratio", "allocation_limit"),
    ),
}
TERM_FIELDS = tuple(dict.fromkeys(name for names in KIND_FIELDS.values() for name in names))
SELECTED_ITEMS = ("entitled_product_ids", "entitled_collection_ids", "entitled_variant_ids")
BOUGHT_ITEMS = ("prerequisite_product_ids", "prerequisite_collection_ids", "prerequisite_variant_ids")
CUSTOMERS = "prerequisite_customer_ids"
EACH = PriceRule.AllocationMethod.EACH
_SHIPPING, _ITEMS = PriceRule.TargetType.SHIPPING_LINE, PriceRule.TargetType.LINE_ITEM


def get_used_lists(kind: str | None, target_selection: str | None, customer_selection: str | None) -> set[str]:
    """Return the lists that a discount of this kind uses with these selections. The form shows only these."""
    names: set[str] = set()
    is_entitled = target_selection == PriceRule.TargetSelection.ENTITLED
    if kind == BUY_X_GET_Y:
        names |= {*BOUGHT_ITEMS, *SELECTED_ITEMS}
    elif kind in {PERCENTAGE, FIXED_AMOUNT} and is_entitled:
        names |= {*SELECTED_ITEMS}
    return names | {CUSTOMERS} if customer_selection == PriceRule.CustomerSelection.PREREQUISITE else names


def has_other_terms(rule: PriceRule) -> bool:
    """Return True for terms that the form has no fields for, such as 50 % off shipping."""
    is_percentage = rule.value_type == PriceRule.ValueType.PERCENTAGE
    if rule.target_type == _SHIPPING:
        return not (is_percentage and rule.value == -100) or rule.allocation_limit is not None
    return not is_percentage if rule.is_buy_x_get_y else rule.allocation_limit is not None or not rule.value


def keeps_each(rule: PriceRule | None) -> bool:
    """Return True if a percentage of the rule is calculated for each item. Only apps choose that."""
    return (
        rule is not None
        and rule.target_type == _ITEMS
        and rule.value_type == PriceRule.ValueType.PERCENTAGE
        and not rule.is_buy_x_get_y
        and rule.allocation_method == EACH
    )
