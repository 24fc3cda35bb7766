"""Field types for orders: amounts, name-value lists and address snapshots."""

from decimal import Decimal
from typing import Unpack

from rest_framework import serializers

from apps.api.resources.fields import ApiField, BooleanField, DecimalField, IntegerField, Render, TextField
from apps.api.resources.fields.options import DecimalOptions, TextOptions
from apps.api.resources.nested_objects import ObjectField, ObjectListField
from apps.api.types import Attrs, Rendered, RequestData
from apps.customers.api.fields import BlankAsNullTextField
from apps.customers.domain.addresses import TEXT_COLUMNS
from apps.ground.money import format_decimal
from apps.orders.domain import addresses


class AmountField(DecimalField):
    """A field for an amount of money. The domain layer validates the number of decimals."""

    def __init__(self, *, order: str = "", **options: Unpack[DecimalOptions]) -> None:
        """Allow as many digits as money columns have. ``order`` is the lookup path to the order, ending in ``__``."""
        options = {"max_digits": 15, "decimal_places": 3, "required": False, "allow_null": True, **options}
        super().__init__(**options)
        self.order = order

    def get_columns(self) -> tuple[str, ...]:
        """Return the columns of the amount and its currency."""
        return (str(self.source), f"{self.order}currency")

    def get_renderer(self) -> Render:
        """Return a renderer that formats amounts with as many decimals as the currency has."""
        return lambda _context, amount, currency: format_decimal(amount, currency)


class RateField(DecimalField):
    """A tax rate, such as 0.2 for 20%."""

    def __init__(self, **options: Unpack[DecimalOptions]) -> None:
        """Limit the rate to 1,000%."""
        options = {"max_digits": 12, "decimal_places": 6, "max_value": Decimal(10), **options}
        super().__init__(**options)


def blank_as_null_text(length: int = 255, **options: Unpack[TextOptions]) -> TextField:
    """Create an optional, nullable text field that renders blank text as null."""
    options["max_length"] = length
    return BlankAsNullTextField(**options)


def nullable_text(length: int = 255, **options: Unpack[TextOptions]) -> TextField:
    """Create an optional, nullable text field that renders blank text unchanged."""
    options = {"max_length": length, "required": False, "allow_null": True, "allow_blank": True, **options}
    return TextField(**options)


def nullable_bool(*, write_only: bool = False) -> BooleanField:
    """Create an optional, nullable boolean field."""
    return BooleanField(required=False, allow_null=True, write_only=write_only)


_ADDRESS = {
    "first_name": blank_as_null_text(),
    "last_name": blank_as_null_text(),
    "name": blank_as_null_text(511),
    "company": blank_as_null_text(),
    "address1": blank_as_null_text(),
    "address2": blank_as_null_text(),
    "city": blank_as_null_text(),
    "zip": blank_as_null_text(),
    "phone": blank_as_null_text(),
    "country": blank_as_null_text(),
    "country_code": blank_as_null_text(2),
    "province": blank_as_null_text(),
    "province_code": blank_as_null_text(10),
}
_SHOWN_FIRST = ("first_name", "address1", "phone", "city", "zip", "province", "country", "last_name")


class AddressField(ObjectField):
    """A field for an address snapshot. Input is validated and completed."""

    def __init__(self) -> None:
        """Accept the same members as a customer address."""
        super().__init__(_ADDRESS)

    def to_internal_value(self, data: object) -> Attrs | None:
        """Parse an address. An empty object is parsed as None."""
        return self._snapshot(data, None)

    def apply_changes(self, data: object, before: RequestData) -> Attrs | None:
        """Return the snapshot with only the given members changed."""
        return self._snapshot(data, before)

    def _snapshot(self, data: object, before: RequestData | None) -> Attrs | None:
        snapshot, errors = addresses.apply_address_changes(before, self.validate_object(data))
        if errors:
            raise serializers.ValidationError(errors)
        return snapshot

    def get_renderer(self) -> Render:
        """Return a renderer that adds the full name to the address."""
        return lambda _context, snapshot: None if snapshot is None else render_address(snapshot)


def render_address(snapshot: RequestData) -> Rendered:
    members = {
        name: snapshot.get(name) if name in TEXT_COLUMNS else snapshot.get(name) or None for name in _SHOWN_FIRST
    }
    name = f"{snapshot.get('first_name') or ''} {snapshot.get('last_name') or ''}".strip()
    return members | {
        "address2": snapshot.get("address2"),
        "company": snapshot.get("company"),
        "latitude": None,
        "longitude": None,
        "name": name,
        "country_code": snapshot.get("country_code") or None,
        "province_code": snapshot.get("province_code") or None,
    }


def get_tax_members() -> dict[str, ApiField]:
    """Return the members of a tax line. A missing price is calculated from the rate."""
    return {
        "title": TextField(max_length=255),
        "rate": RateField(required=False, default=Decimal(0)),
        "price": AmountField(default=None),
        "channel_liable": BooleanField(required=False, allow_null=True, default=None),
    }


def name_value_list() -> ObjectListField:
    """Create a field for a list of name-value pairs, such as note attributes or line item properties."""
    return ObjectListField({"name": TextField(max_length=255), "value": _AnyText(required=False, default="")})


class _AnyText(TextField):
    """A text field that also accepts booleans and converts them to "true" or "false"."""

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        options = {"max_length": 5000, "allow_blank": True, "allow_null": True, **options}
        super().__init__(**options)

    def to_internal_value(self, data: object) -> str:
        return super().to_internal_value(str(data).lower() if isinstance(data, bool) else data)


def nullable_integer(least: int = 0, most: int = 10**9) -> IntegerField:
    """Create an optional, nullable integer field."""
    return IntegerField(min_value=least, max_value=most, required=False, allow_null=True)
