r"""Format and parse cells that contain several values: ``SUMMER|5.00|fixed_amount; WELCOME|10|percentage``.

A ``\`` escapes a ``;``, ``|`` or ``\`` in a value.
"""

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\;|])")
_PIECE = re.compile(r"\\([\\;|])|([;|])|(.)", re.DOTALL)


def format_list_cell(rows: Iterable[Iterable[object]]) -> str:
    """Format rows of values as one cell: ``a|b; c|d``."""
    return "; ".join("|".join(_SPECIAL.sub(r"\\\1", str(value)) for value in row) for row in rows)


def parse_list_cell(cell: str) -> list[list[str]]:
    """Parse a cell into rows of values, and strip whitespace from the values. A blank cell has no rows."""
    if not cell.strip():
        return []
    rows: list[list[str]] = [[""]]
    for escaped, separator, character in _PIECE.findall(cell):
        if separator == ";":
            rows.append([""])
        elif separator:
            rows[-1].append("")
        else:
            rows[-1][-1] += escaped or character
    stripped = [[value.strip() for value in row] for row in rows]
    return stripped if any(stripped[-1]) else stripped[:-1]


def parse_value_list(cell: str) -> Sequence[str]:
    """Parse a cell into a list of single values."""
    return ["|".join(row) for row in parse_list_cell(cell)]
