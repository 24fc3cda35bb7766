r"""Several values in one cell: ``SUMMER|5.00|fixed_amount; WELCOME|10|percentage``.

A ``;``, ``|`` or ``\`` that belongs to a value has a ``\`` in front.
"""

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\;|])")
_PIECE = re.compile(r"\\([\\;|])|([;|])|(.)", re.DOTALL)


def joined(rows: Iterable[Iterable[object]]) -> str:
    """A cell of rows of values."""
    return "; ".join("|".join(_SPECIAL.sub(r"\\\1", str(value)) for value in row) for row in rows)


def parted(cell: str) -> list[list[str]]:
    """The rows of values in a cell, without blanks around them; none in a blank one."""
    if not cell.strip():
        return []
    rows: list[list[str]] = [[""]]
    for escaped, sign, other in _PIECE.findall(cell):
        if sign == ";":
            rows.append([""])
        elif sign:
            rows[-1].append("")
        else:
            rows[-1][-1] += escaped or other
    kept = [[value.strip() for value in row] for row in rows]
    return kept if any(kept[-1]) else kept[:-1]


def column(cell: str) -> Sequence[str]:
    """The values in a cell that holds one after the other."""
    return ["|".join(row) for row in parted(cell)]
