from collections.abc import Mapping
from decimal import Decimal

from apps.core.money import format_plain
from apps.core.rest.resources.fields import ApiField, Check, DecimalField, IntegerField, Render
from apps.core.rest.resources.nested_objects import ObjectField, ValueListField
from apps.core.rest.resources.nested_rows import NestedRows
from apps.core.types import Attrs, Schema
from apps.discounts.domain.price_rules import ITEM_LISTS, MAX_ITEMS
from apps.orders.api.fields import PlainNumberField

_DECIMALS = 3
DECIMAL: Schema = {"type": "string", "format": "decimal"}


def format_number(number: Decimal) -> str:
    """Return a number with at least one decimal, as existing clients know it: ``-10.0``."""
    text = format_plain(number)
    return text if "." in text else f"{text}.0"


class ValueField(PlainNumberField):
    """The value of a rule, which is negative: an amount or a percentage with at most three decimals."""

    schema = DECIMAL

    def to_internal_value(self, data: object) -> Decimal:  # type: ignore[override]
        number = Decimal(super().to_internal_value(data))
        if number != round(number, _DECIMALS):
            self.fail("invalid")
        return number

    def get_renderer(self) -> Render:
        return lambda _context, number: format_number(number)


class ItemIdsField(NestedRows):
    """A list of the ids that a rule selects. A list in a body replaces the stored list."""

    def __init__(self, name: str) -> None:
        entry = ITEM_LISTS[name]
        conditions = {"role": entry.role.value, f"{entry.column}__isnull": False}
        schema: Schema = {"type": "array", "items": {"type": "integer"}, "maxItems": MAX_ITEMS}
        super().__init__(None, "items", where=conditions, flat=entry.column, schema=schema)
        self.name = name
        self.read_only = False
        self.required = False
        self.allow_null = True

    def __deepcopy__(self, memo: dict[int, object]) -> "ItemIdsField":
        return ItemIdsField(self.name)

    def get_validator(self, version: str) -> Check:
        """Return the function that validates the ids. Null means no ids."""
        ids = ValueListField(IntegerField(min_value=1), most=MAX_ITEMS)
        return lambda data: ids.run_validation(data) or []


def amount_member() -> DecimalField:
    return DecimalField(max_digits=15, decimal_places=_DECIMALS, required=False, allow_null=True)


class ColumnsField(ObjectField):
    """An object with the values of several columns, by member. The object is null without values if ``nullable``.

    The validated attribute has the values by column. ``spread_columns`` moves them into the attributes of the rule.
    """

    def __init__(self, members: Mapping[str, ApiField], columns: Mapping[str, str], *, nullable: bool) -> None:
        super().__init__(members)
        self.columns = dict(columns)
        self.nullable = nullable

    def __deepcopy__(self, memo: dict[int, object]) -> "ColumnsField":
        return ColumnsField(self.members, self.columns, nullable=self.nullable)

    def get_columns(self) -> tuple[str, ...]:
        return tuple(self.columns.values())

    def get_renderer(self) -> Render:
        def render(_context: object, *values: Decimal | int | None) -> Attrs | None:
            if self.nullable and all(value is None for value in values):
                return None
            texts = (format_number(value) if isinstance(value, Decimal) else value for value in values)
            return dict(zip(self.columns, texts, strict=True))

        return render

    def run_validation(self, data: object = None) -> object:
        if data is None:
            return dict.fromkeys(self.columns.values())
        return super().run_validation(data)

    def to_internal_value(self, data: object) -> Attrs:
        values = self.validate_object(data)
        return {self.columns[name]: value for name, value in values.items()}


def spread_columns(attrs: Attrs, names: Mapping[str, ColumnsField]) -> None:
    for name in names.keys() & attrs.keys():
        attrs.update(attrs.pop(name))
