"""References between the rows of an exported order. Ids in the file become indexes, or ids of this shop's locations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain
from typing import Self

from apps.core.i18n.messages import define_message, define_text
from apps.core.types import Attrs, Errors, ReadOnlyAttrs

_UNKNOWN = define_text("order_imports.unknown_row", "is not a row of this order")
_NO_LOCATION = define_message(
    "order_imports.no_location",
    "the location “{name}” does not exist. Create a location with this name, then import the order again",
)
_NO_NAME = define_message(
    "order_imports.no_location_name",
    "the file does not contain the name of location {number}. Add the name to “locations”, or export the order again",
)
# The key of the shop's primary location in ``location_ids``.
PRIMARY = ""


@dataclass(slots=True, kw_only=True)
class OrderReferences:
    """The rows of an order that other rows refer to, and the errors of references that were not found.

    Attributes:
        lines: The indexes of line items, keyed by id.
        shipping: The indexes of shipping lines, keyed by id.
        duties: The indexes of the line item and of the duty, keyed by the id of the duty.
        transactions: All transactions, including those of refunds, oldest first.
        location_names: The names of locations in the other shop, keyed by id.
        location_ids: The ids of this shop's locations, keyed by their lowercase names.
    """

    lines: Mapping[int, int]
    shipping: Mapping[int, int]
    duties: Mapping[int, tuple[int, int]]
    transactions: Sequence[ReadOnlyAttrs]
    location_names: Mapping[int, str]
    location_ids: Mapping[str, int]
    currency: str
    is_multi_currency: bool
    rate: Decimal
    errors: Errors = field(default_factory=dict)
    _transaction_indexes: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def create(
        cls,
        values: ReadOnlyAttrs,
        *,
        currency: str,
        is_multi_currency: bool,
        rate: Decimal,
        location_ids: Mapping[str, int],
    ) -> Self:
        lines = values["line_items"]
        transactions = _collect_transactions(values)
        names = {row["id"]: row["name"] for row in values.get("locations") or () if row.get("id") and row.get("name")}
        return cls(
            lines=_index(lines),
            shipping=_index(values.get("shipping_lines") or ()),
            duties={
                duty["id"]: (index, position)
                for index, line in enumerate(lines)
                for position, duty in enumerate(line.get("duties") or ())
                if duty.get("id") is not None
            },
            transactions=transactions,
            location_names=names,
            location_ids=location_ids,
            currency=currency,
            is_multi_currency=is_multi_currency,
            rate=rate,
            _transaction_indexes=_index(transactions),
        )

    def find_line(self, pk: int | None, path: str) -> int:
        return self._find(self.lines, pk, path)

    def find_shipping(self, pk: int | None, path: str) -> int:
        return self._find(self.shipping, pk, path)

    def find_duty(self, pk: int | None, path: str) -> tuple[int, int]:
        if pk is None or pk not in self.duties:
            self.errors[path] = [_UNKNOWN]
            return 0, 0
        return self.duties[pk]

    def find_transaction(self, pk: int | None) -> int | None:
        return None if pk is None else self._transaction_indexes.get(pk, len(self.transactions))

    def find_location(self, pk: int | None, path: str) -> int | None:
        """Return the id of this shop's location with the same name. A file without names means the primary location."""
        if not self.location_names:
            return self.location_ids.get(PRIMARY)
        name = self.location_names.get(pk or 0)
        location = None if name is None else self.location_ids.get(name.lower())
        if name is None:
            self.errors[path] = [_NO_NAME(number=pk or 0)]
        elif location is None:
            self.errors[path] = [_NO_LOCATION(name=name)]
        return location

    def _find(self, indexes: Mapping[int, int], pk: int | None, path: str) -> int:
        index = None if pk is None else indexes.get(pk)
        if index is None:
            self.errors[path] = [_UNKNOWN]
        return index or 0

    def read_amounts(self, money_set: ReadOnlyAttrs) -> tuple[Decimal, Decimal | None]:
        """Return an amount, and the amount in the presentment currency if the order has two currencies."""
        amount, presentment = (money_set[side]["amount"] for side in ("shop_money", "presentment_money"))
        return amount, presentment if self.is_multi_currency else None


def _index(rows: Sequence[ReadOnlyAttrs]) -> dict[int, int]:
    return {row["id"]: index for index, row in enumerate(rows) if row.get("id") is not None}


def _collect_transactions(values: ReadOnlyAttrs) -> list[Attrs]:
    """Return the transactions of the order and of its refunds. A transaction may be listed in both."""
    rows = list(values.get("transactions") or ())
    known = {row.get("id") for row in rows}
    of_refunds = chain.from_iterable(refund.get("transactions") or () for refund in values.get("refunds") or ())
    new = [row for row in of_refunds if row.get("id") not in known]
    if not new:
        return rows
    return sorted([*rows, *new], key=lambda row: row.get("id") or 0)
