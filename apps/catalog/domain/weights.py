"""Convert variant weights. A weight is stored exactly as entered, with its unit, and also rounded to whole grams."""

from decimal import ROUND_HALF_UP, Decimal

from apps.core.tenancy.models import Shop
from apps.core.types import Attrs

GRAMS = {
    Shop.WeightUnit.GRAM: Decimal(1),
    Shop.WeightUnit.KILOGRAM: Decimal(1000),
    Shop.WeightUnit.OUNCE: Decimal("28.349523125"),
    Shop.WeightUnit.POUND: Decimal("453.59237"),
}
_PRECISION = Decimal("0.000001")


def to_grams(weight: Decimal, unit: str) -> int:
    """Convert a weight to whole grams, rounding half up."""
    return int((weight * GRAMS[Shop.WeightUnit(unit)]).quantize(Decimal(1), ROUND_HALF_UP))


def complete_weight(attrs: Attrs, *, weight: Decimal, unit: str, grams: int) -> None:
    """Add the weight columns that depend on the changed weight columns of a variant.

    - If the weight changes, the grams are calculated from the weight.
    - If the grams change but not the weight, the weight is calculated from the grams.
    - If only the unit changes, the weight keeps its number and the grams are recalculated.

    Unchanged values are ignored. A client can therefore send back ``grams`` without rounding the weight. ``attrs`` is
    changed in place. The other arguments are the current values.
    """
    for name, before in (("weight", weight), ("weight_unit", unit), ("grams", grams)):
        if attrs.get(name) == before:
            del attrs[name]
    unit = attrs.get("weight_unit", unit)
    if "grams" in attrs and "weight" not in attrs:
        attrs["weight"] = (attrs["grams"] / GRAMS[Shop.WeightUnit(unit)]).quantize(_PRECISION, ROUND_HALF_UP)
    elif "weight" in attrs or "weight_unit" in attrs:
        attrs["grams"] = to_grams(attrs.get("weight", weight), unit)
