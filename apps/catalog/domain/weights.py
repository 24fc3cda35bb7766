"""Weights: kept exactly as given, in the unit given, and in whole grams."""

from decimal import ROUND_HALF_UP, Decimal

from apps.ground.attrs import Attrs
from apps.shops.models import Shop

GRAMS = {
    Shop.WeightUnit.GRAM: Decimal(1),
    Shop.WeightUnit.KILOGRAM: Decimal(1000),
    Shop.WeightUnit.OUNCE: Decimal("28.349523125"),
    Shop.WeightUnit.POUND: Decimal("453.59237"),
}
_PLACES = Decimal("0.000001")


def to_grams(weight: Decimal, unit: str) -> int:
    """A weight in whole grams, halves up."""
    return int((weight * GRAMS[Shop.WeightUnit(unit)]).quantize(Decimal(1), ROUND_HALF_UP))


def settle(attrs: Attrs, *, weight: Decimal, unit: str, grams: int) -> None:
    """Complete the attributes of a variant whose weight changes.

    Only what differs decides, so that grams that are sent back as they were read do not round the weight.

    A weight decides the grams; without one, grams decide the weight, in the unit that is named or that the variant has;
    a unit alone leaves the number as it is, so that it decides the grams.

    Args:
        attrs: The changed columns; completed in place.
        weight: The weight that the variant had.
        unit: The unit that it had.
        grams: The whole grams that it had.
    """
    for name, before in (("weight", weight), ("weight_unit", unit), ("grams", grams)):
        if attrs.get(name) == before:
            del attrs[name]
    unit = attrs.get("weight_unit", unit)
    if "grams" in attrs and "weight" not in attrs:
        attrs["weight"] = (attrs["grams"] / GRAMS[Shop.WeightUnit(unit)]).quantize(_PLACES, ROUND_HALF_UP)
    elif "weight" in attrs or "weight_unit" in attrs:
        attrs["grams"] = to_grams(attrs.get("weight", weight), unit)
