"""The fields that only orders have: amounts, lists of small objects, addresses as snapshots."""

from decimal import Decimal
from typing import Unpack

from rest_framework import serializers

from apps.api.resources.fields import ApiField, BooleanField, DecimalField, IntegerField, Render, TextField
from apps.api.resources.fields.options import DecimalOptions, TextOptions
from apps.api.resources.members import ObjectField, ObjectsField
from apps.api.shapes import Attrs, Data, Shown
from apps.customers.api.fields import BlankableText
from apps.customers.domain.addresses import TEXTS
from apps.ground.money import text_of
from apps.orders.domain import addresses


class AmountField(DecimalField):
    """An amount as it is sent: plain digits; whether its currency has the decimals is asked by the domain."""

    def __init__(self, *, order: str = "", **options: Unpack[DecimalOptions]) -> None:
        """As wide as the columns of money; ``order`` is the path to the order, ending in ``__``."""
        options = {"max_digits": 15, "decimal_places": 3, "required": False, "allow_null": True, **options}
        super().__init__(**options)
        self.order = order

    def columns(self) -> tuple[str, ...]:
        """The amount and its currency."""
        return (str(self.source), f"{self.order}currency")

    def reader(self) -> Render:
        """With the decimals of its currency."""
        return lambda _context, amount, currency: text_of(amount, currency)


class RateField(DecimalField):
    """A tax rate, 0.2 for 20 %."""

    def __init__(self, **options: Unpack[DecimalOptions]) -> None:
        """At most 1,000 %."""
        options = {"max_digits": 12, "decimal_places": 6, "max_value": Decimal(10), **options}
        super().__init__(**options)


def text(length: int = 255, **options: Unpack[TextOptions]) -> TextField:
    """A text that may be absent, null and blank; shown as null where it is blank."""
    options["max_length"] = length
    return BlankableText(**options)


def string(length: int = 255, **options: Unpack[TextOptions]) -> TextField:
    """A text that may be absent, null and blank; shown as it is."""
    options = {"max_length": length, "required": False, "allow_null": True, "allow_blank": True, **options}
    return TextField(**options)


def flag(*, write_only: bool = False) -> BooleanField:
    """A truth value that may be absent and null."""
    return BooleanField(required=False, allow_null=True, write_only=write_only)


_ADDRESS = {
    "first_name": text(),
    "last_name": text(),
    "name": text(511),
    "company": text(),
    "address1": text(),
    "address2": text(),
    "city": text(),
    "zip": text(),
    "phone": text(),
    "country": text(),
    "country_code": text(2),
    "province": text(),
    "province_code": text(10),
}
_SHOWN_FIRST = ("first_name", "address1", "phone", "city", "zip", "province", "country", "last_name")


class AddressField(ObjectField):
    """An address, completed and kept as it was when it was given."""

    def __init__(self) -> None:
        """Like the addresses of customers."""
        super().__init__(_ADDRESS)

    def to_internal_value(self, data: object) -> Attrs | None:
        """The snapshot; an empty object is none."""
        return self._snapshot(data, None)

    def changed(self, data: object, before: Data) -> Attrs | None:
        """A snapshot with what is given; parts that are not named stay as they were."""
        return self._snapshot(data, before)

    def _snapshot(self, data: object, before: Data | None) -> Attrs | None:
        snapshot, errors = addresses.changed(before, self.read(data))
        if errors:
            raise serializers.ValidationError(errors)
        return snapshot

    def reader(self) -> Render:
        """With the whole name."""
        return lambda _context, snapshot: None if snapshot is None else shown_address(snapshot)


def shown_address(snapshot: Data) -> Shown:
    """A snapshot as the interface shows it."""
    shown = {name: snapshot.get(name) if name in TEXTS else snapshot.get(name) or None for name in _SHOWN_FIRST}
    name = f"{snapshot.get('first_name') or ''} {snapshot.get('last_name') or ''}".strip()
    return shown | {
        "address2": snapshot.get("address2"),
        "company": snapshot.get("company"),
        "latitude": None,
        "longitude": None,
        "name": name,
        "country_code": snapshot.get("country_code") or None,
        "province_code": snapshot.get("province_code") or None,
    }


def tax_members() -> dict[str, ApiField]:
    """A tax line as it is sent; without a price, its rate makes the price."""
    return {
        "title": TextField(max_length=255),
        "rate": RateField(required=False, default=Decimal(0)),
        "price": AmountField(default=None),
        "channel_liable": BooleanField(required=False, allow_null=True, default=None),
    }


def pairs() -> ObjectsField:
    """Names with values, such as note attributes and the properties of a line."""
    return ObjectsField({"name": TextField(max_length=255), "value": _AnyText(required=False, default="")})


class _AnyText(TextField):
    """A text; truth values are taken as their words."""

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        options = {"max_length": 5000, "allow_blank": True, "allow_null": True, **options}
        super().__init__(**options)

    def to_internal_value(self, data: object) -> str:
        return super().to_internal_value(str(data).lower() if isinstance(data, bool) else data)


def whole(least: int = 0, most: int = 10**9) -> IntegerField:
    """A count that may be absent."""
    return IntegerField(min_value=least, max_value=most, required=False, allow_null=True)
