"""The lines of a stock document in a form, with a field that takes scanned codes and quantities.

Without JavaScript, each scanned code submits the form and the page is shown again. ``receive.js`` does the same in the
browser and looks codes up with ``render_found_items``.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.http import HttpRequest, JsonResponse, QueryDict
from django.utils.translation import gettext as _

from apps.core.exceptions import DomainError
from apps.inventory.domain.documents import LinesRefused
from apps.inventory.domain.hooks import get_item_names
from apps.inventory.domain.item_lookup import MAX_CODE_LENGTH, FoundItems, find_items
from apps.inventory.models import MAX_LINES, MAX_QUANTITY, InventoryItem, StockDocumentLine

_FIELD = re.compile(r"(quantity|name)-([1-9][0-9]{0,17})", re.ASCII)
_NUMBER = re.compile(r"\+?([0-9]{1,9})", re.ASCII)
# A number with up to this many digits is a quantity, unless it is the SKU or barcode of an item.
MAX_QUANTITY_DIGITS = 5
_SHORT_NUMBER = re.compile(rf"([+]?)([0-9]{{1,{MAX_QUANTITY_DIGITS}}})", re.ASCII)


@dataclass(frozen=True, slots=True)
class LineRow:
    item: InventoryItem
    name: str
    quantity: str
    error: str


@dataclass(slots=True)
class LinesInput:
    """The quantities in a form, as text by item id, newest first. ``last`` is the item that was scanned last.

    The form also has the names of the items, in case items are deleted while it is open. With ``is_counting``, codes
    only count the items that have a quantity, and the first code sets all quantities to 0.
    """

    quantities: dict[int, str] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    last: int | None = None
    code: str = ""
    message: str = ""
    error: str = ""
    found: list[InventoryItem] = field(default_factory=list)
    errors: dict[int, str] = field(default_factory=dict)
    is_counting: bool = False

    @classmethod
    def from_lines(cls, lines: Iterable[StockDocumentLine]) -> "LinesInput":
        return cls({line.item_id: str(line.quantity) for line in lines if line.item_id is not None})

    @classmethod
    def from_data(cls, data: QueryDict, *, is_counting: bool = False) -> "LinesInput":
        texts: dict[str, dict[int, str]] = {"quantity": {}, "name": {}}
        for name, value in data.items():
            if match := _FIELD.fullmatch(name):
                texts[match[1]][int(match[2])] = str(value).strip()
        last = data.get("last", "")
        last_id = int(last) if last.isdecimal() and len(last) <= 18 else None
        return cls(texts["quantity"], texts["name"], last_id, is_counting=is_counting)

    def run_step(self, data: QueryDict) -> None:
        """Run the step of the form that changes lines: a scanned code, a chosen item, or an item to remove."""
        chosen, removed = data.get("add", ""), data.get("remove", "")
        if removed.isdecimal():
            self.quantities.pop(int(removed[:18]), None)
        elif chosen.isdecimal():
            for item in InventoryItem.objects.filter(pk=int(chosen[:18])):
                self._add(item)
        elif code := str(data.get("code", "")).replace("\0", "").strip()[:MAX_CODE_LENGTH]:
            self._enter(code)

    def _enter(self, code: str) -> None:
        number = _SHORT_NUMBER.fullmatch(code)
        is_quantity = number is not None and self.last in self.quantities
        if number and is_quantity and number[1]:
            self._set_last(int(number[2]), adds=True)
            return
        result = find_items(code)
        if result.is_exact:
            self._add(result.items[0])
        elif number and is_quantity and not result.has_code:
            self._set_last(int(number[2]))
        elif result.items:
            self.code, self.found = code, result.items
            self.error = _("“{code}” matches several items. Choose one.").format(code=code)
        else:
            self.code, self.error = code, _("No item has the SKU or barcode “{code}”.").format(code=code)

    def _set_last(self, number: int, *, adds: bool = False) -> None:
        assert self.last is not None
        before = _NUMBER.fullmatch(self.quantities[self.last])
        quantity = number + (int(before[1]) if adds and before else 0)
        self.quantities[self.last] = str(quantity)
        for row in self._rows([self.last]):
            self.message = _("{name}: {quantity}").format(name=row.name, quantity=quantity)

    def _add(self, item: InventoryItem) -> None:
        name = get_item_names([item])[item.pk]
        if self.is_counting and item.pk not in self.quantities:
            self.error = _("{name} is not missing from this transfer.").format(name=name)
            return
        if self.is_counting and self.last is None:
            self.quantities = dict.fromkeys(self.quantities, "0")
        before = _NUMBER.fullmatch(self.quantities.pop(item.pk, ""))
        quantity = int(before[1]) + 1 if before else 1
        # The newest line comes first, so that it is next to the field.
        self.quantities = {item.pk: str(quantity), **self.quantities}
        self.last = item.pk
        self.message = _("{name}: {quantity}").format(name=name, quantity=quantity)

    def parse(self) -> dict[int, int]:
        """Return the quantities as numbers. Lines with 0 or no quantity are left out."""
        numbers, errors = {}, {}
        for pk, text in self.quantities.items():
            match = _NUMBER.fullmatch(text)
            if match and int(match[1]) <= MAX_QUANTITY:
                numbers[pk] = int(match[1])
            elif text:
                errors[pk] = _("Enter a whole number from 0 to {limit}.").format(limit=MAX_QUANTITY)
        if errors:
            raise LinesRefused(errors)
        return {pk: number for pk, number in numbers.items() if number}

    def add_error(self, error: DomainError) -> None:
        if isinstance(error, LinesRefused):
            self.errors = error.lines

    @property
    def rows(self) -> list[LineRow]:
        return self._rows(list(self.quantities)[: MAX_LINES * 2])

    @property
    def found_rows(self) -> list[LineRow]:
        names = get_item_names(self.found)
        return [LineRow(item, names[item.pk], "", "") for item in self.found]

    def get_deleted_names(self) -> list[str]:
        """Return the names of the items that were deleted while the form was open. ``rows`` has no rows for them."""
        present = set(InventoryItem.objects.filter(pk__in=list(self.quantities)).values_list("pk", flat=True))
        return [self.names.get(pk) or f"#{pk}" for pk in self.quantities if pk not in present][:MAX_LINES]

    def _rows(self, ids: Sequence[int]) -> list[LineRow]:
        items = InventoryItem.objects.in_bulk(ids)
        names = get_item_names(list(items.values()))
        return [
            LineRow(items[pk], names[pk], self.quantities[pk], self.errors.get(pk, "")) for pk in ids if pk in items
        ]


def render_found_items(request: HttpRequest) -> JsonResponse:
    """Return the items for the code in the query string, for the script of the form."""
    result: FoundItems = find_items(request.GET.get("code", ""))
    names = get_item_names(result.items)
    items = [{"id": item.pk, "name": names[item.pk], "sku": item.sku, "tracked": item.tracked} for item in result.items]
    found = {"items": items, "exact": result.is_exact, "coded": result.has_code}
    return JsonResponse(found, headers={"Cache-Control": "no-store"})
