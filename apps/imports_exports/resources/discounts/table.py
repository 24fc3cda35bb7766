"""The columns of discount tables. Each row is a code with the terms of its discount."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from django.utils.translation import gettext_lazy

from apps.core.admin.display.fields import get_field_label
from apps.core.money import format_plain
from apps.core.numbers.exact import parse_whole_number
from apps.core.tenancy.scope import get_current_shop
from apps.discounts.models import DiscountCode, PriceRule
from apps.imports_exports.domain.csv_reader import format_bool
from apps.imports_exports.domain.flags import parse_flags
from apps.imports_exports.domain.resources import ObjectData
from apps.imports_exports.domain.rows import Body, Cells, UnreadableCell
from apps.imports_exports.resources.cells import NOT_A_NUMBER, format_list_cell, parse_value_list
from apps.imports_exports.resources.discounts.references import REFERENCES

CODE, TIMES_USED = "discount_code", "times_used"
# Columns of a rule, by the names of the model.
CHOICES = ("value_type", "target_type", "target_selection", "allocation_method", "customer_selection")
COUNTS = (
    "usage_limit",
    "allocation_limit",
    "prerequisite_quantity",
    "prerequisite_quantity_ratio",
    "entitled_quantity_ratio",
)
AMOUNTS = ("prerequisite_subtotal", "prerequisite_shipping_price", "prerequisite_amount")
TIMES = ("starts_at", "ends_at")
RULE_COLUMNS = ("title", "value", *CHOICES, "once_per_customer", *COUNTS, *AMOUNTS, *TIMES)
COLUMNS = (CODE, *RULE_COLUMNS, *REFERENCES, TIMES_USED)
ALIASES: Mapping[str, Sequence[str]] = {
    CODE: ("Code", "Coupon code", "Promo code", "Voucher", "Gutscheincode", "Rabattcode", "Aktionscode"),
    "title": ("Discount name", "Campaign", "Aktion"),
    "value": ("Discount value", "Coupon amount", "Amount", "Rabatt", "Rabattwert"),
    "value_type": ("Discount type", "Rabattart"),
    "usage_limit": ("Usage limit per code", "Maximum uses"),
    "once_per_customer": ("Applies once per customer", "One use per customer"),
    "prerequisite_subtotal": ("Minimum purchase amount", "Minimum spend", "Minimum amount", "Mindestbestellwert"),
    "prerequisite_quantity": ("Minimum quantity of items",),
    "starts_at": ("Start", "Start date", "Valid from", "Gültig ab"),
    "ends_at": ("End", "End date", "Expiry date", "Expires", "Valid until", "Gültig bis"),
    TIMES_USED: ("Uses", "Used", "Usage count", "Einlösungen"),
}
_LABELS = {
    CODE: gettext_lazy("Discount code"),
    TIMES_USED: gettext_lazy("Uses in the other system"),
    "entitled_products": gettext_lazy("Discounted products"),
    "entitled_variants": gettext_lazy("Discounted variants"),
    "entitled_collections": gettext_lazy("Discounted collections"),
    "entitled_countries": gettext_lazy("Discounted countries"),
    "prerequisite_products": gettext_lazy("Products to buy"),
    "prerequisite_variants": gettext_lazy("Variants to buy"),
    "prerequisite_collections": gettext_lazy("Collections to buy from"),
    "prerequisite_customers": gettext_lazy("Email addresses of the selected customers"),
}


def get_discount_label(column: str) -> str:
    return str(_LABELS.get(column) or get_field_label(column, (PriceRule, DiscountCode)))


def serialize_rule(rule: PriceRule, names: Mapping[str, Sequence[str]]) -> ObjectData:
    """Return a rule for a file. ``names`` are the names of the rule's items by column."""
    values = {name: getattr(rule, name) for name in RULE_COLUMNS}
    zone = get_current_shop().tzinfo
    return {
        "id": rule.pk,
        **{name: format_plain(value) if isinstance(value, Decimal) else value for name, value in values.items()},
        # Rules are compared with those of the file, so fractions of a second are kept.
        **{name: values[name] and values[name].astimezone(zone).isoformat() for name in TIMES},
        **{name: list(names.get(name, ())) for name in REFERENCES},
    }


def iter_cells(discount: ObjectData) -> Iterable[ObjectData]:
    """Yield a row for each code, or one row for a discount without codes."""
    terms = {
        **{name: discount[name] for name in RULE_COLUMNS},
        "once_per_customer": format_bool(discount["once_per_customer"]),
        **{name: format_list_cell([item] for item in discount[name]) for name in REFERENCES},
    }
    codes: Sequence[ObjectData] = discount["codes"] or [{}]
    for code in codes:
        yield {**terms, CODE: code.get("code"), TIMES_USED: code.get(TIMES_USED)}


def parse_discount_row(rows: Sequence[Cells]) -> Body:
    """Convert a row to a discount with at most one code. Blank cells are omitted."""
    cells = {name: cell.strip() for name, cell in rows[0].items() if cell.strip()}
    code: dict[str, object] = {"code": cells[CODE]} if CODE in cells else {}
    if code and TIMES_USED in cells:
        code[TIMES_USED] = cells[TIMES_USED]
    return {
        **{name: cells[name] for name in RULE_COLUMNS if name in cells},
        **{name: cells[name].lower().replace(" ", "_") for name in CHOICES if name in cells},
        **{name: _parse_count(name, cells[name]) for name in COUNTS if name in cells},
        **parse_flags(rows[0], {"once_per_customer": "once_per_customer"}),
        **{name: parse_value_list(cells[name]) for name in REFERENCES if name in cells},
        "codes": [code] if code else [],
    }


def _parse_count(column: str, cell: str) -> int:
    number = parse_whole_number(cell)
    if number is None:
        raise UnreadableCell(column, NOT_A_NUMBER(value=repr(cell[:50])))
    return number
