import re
from decimal import Decimal

from apps.core.i18n.messages import define_message
from apps.core.money import ZERO
from apps.core.numbers.exact import parse_whole_number
from apps.imports_exports.domain.rows import Cells, UnreadableCell
from apps.imports_exports.resources.cells import NOT_A_NUMBER

_NOT_AN_AMOUNT = define_message(
    "order_imports.not_an_amount", "{value} is not an amount. Write it with a decimal point, such as 9.50"
)
_AMOUNT = re.compile(r"-?[0-9]{1,12}(?:\.[0-9]{1,12})?", re.ASCII)
_MAX_QUOTED = 50


def read_amount(cells: Cells, column: str) -> Decimal | None:
    """Return the amount in a cell, or None if the cell is blank. Only a balance may be negative."""
    text = cells.get(column, "").strip()
    if not text:
        return None
    if not _AMOUNT.fullmatch(text) or (text.startswith("-") and column != "outstanding_balance"):
        raise UnreadableCell(column, _NOT_AN_AMOUNT(value=repr(text[:_MAX_QUOTED])))
    return Decimal(text)


def read_sum(cells: Cells, column: str) -> Decimal:
    """Return the amount in a cell, or zero if the cell is blank."""
    return read_amount(cells, column) or ZERO


def read_quantity(cells: Cells, column: str, default: int) -> int:
    text = cells.get(column, "").strip()
    number = parse_whole_number(text) if text else default
    if number is None:
        raise UnreadableCell(column, NOT_A_NUMBER(value=repr(text[:_MAX_QUOTED])))
    return number
