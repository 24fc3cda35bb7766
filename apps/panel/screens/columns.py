"""Which columns a list shows: those that it comes with, or those that a person chose, in their order.

A list offers its ``list_display`` and behind it its ``list_extra``. A choice belongs to a person, a shop and a list;
the address of a list may say another one (``columns``), as a kept view does. For sorting (``o``) an address counts
columns by their place among all that are offered, so that it sorts alike whatever is shown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import label_for_field
from django.utils.text import capfirst

from apps.staff.models import ListColumns, User

COLUMNS_VAR = "columns"
# A list of so few columns has nothing to choose from.
FEWEST = 4
LONGEST = 1000
_BESIDE = frozenset({"action_checkbox", ACTION_CHECKBOX_NAME})


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the panel that chooses them shows it; ``stays`` where it cannot be hidden."""

    name: str
    label: str
    shown: bool
    stays: bool
    first: bool = False
    last: bool = False


class Columns:
    """The columns of one list for one request.

    Args:
        screen: The list's screen.
        delivered: What it comes with, perhaps with the boxes that choose rows.
        links: Its columns that lead to a row; they stay.
        choice: The names that were chosen, joined by dots; unknown ones are nothing. Empty for the list as it comes.
    """

    def __init__(self, screen: Any, delivered: Sequence[Any], links: Sequence[Any] | None, choice: str) -> None:
        self._screen = screen
        self._beside = [name for name in delivered if name in _BESIDE]
        self.delivered = [name for name in delivered if name not in _BESIDE]
        self._offered = [*self.delivered, *(name for name in screen.list_extra if name not in self.delivered)]
        self.choosable = len(self._offered) >= FEWEST and all(isinstance(name, str) for name in self._offered)
        self.staying = [name for name in self.delivered if name in (links or self.delivered[:1])]
        self.chosen = self._valid(choice.split(".")) if choice and self.choosable else self.delivered

    def _valid(self, names: Iterable[str]) -> list[str]:
        known = [name for name in dict.fromkeys(names) if name in self._offered]
        return [*(name for name in self.staying if name not in known), *known]

    @property
    def shown(self) -> list[Any]:
        """What the list shows, with the boxes that choose rows."""
        return [*self._beside, *self.chosen]

    @property
    def _numbered(self) -> list[Any]:
        return [*self._beside, *self._offered]

    @property
    def choice(self) -> str:
        """The columns as an address says them; empty for the list as it comes."""
        return "" if self.chosen == self.delivered else ".".join(self.chosen)

    @property
    def are_chosen(self) -> bool:
        """Whether the list shows others than those it comes with."""
        return bool(self.choice)

    def rows(self) -> list[Column]:
        """All that are offered, those that are shown first and in their order."""
        last = len(self.chosen) - 1
        shown = [
            Column(name, self.label(name), True, name in self.staying, place == 0, place == last)
            for place, name in enumerate(self.chosen)
        ]
        return shown + [
            Column(name, self.label(name), False, False) for name in self._offered if name not in self.chosen
        ]

    @property
    def order(self) -> str:
        """The names of the rows, joined by dots."""
        return ".".join(row.name for row in self.rows())

    def label(self, name: str) -> str:
        """What people call a column."""
        return capfirst(str(label_for_field(name, self._screen.model, self._screen)))

    # --- sorting ---

    def sorted_here(self, order: str) -> tuple[str, list[str]]:
        """An address's order by the columns that are shown, and the labels of those in it that are not."""
        here, hidden = [], []
        for sign, number in _parts(order):
            name = self._numbered[number] if number < len(self._numbered) else None
            if name in self.shown:
                here.append(f"{sign}{self.shown.index(name)}")
            elif name is not None:
                hidden.append(self.label(name))
        return ".".join(here), hidden

    def sorted_anywhere(self, order: str) -> str:
        """The order as an address says it."""
        known = [(sign, self.shown[number]) for sign, number in _parts(order) if number < len(self.shown)]
        return ".".join(f"{sign}{self._numbered.index(name)}" for sign, name in known)


def _parts(order: str) -> list[tuple[str, int]]:
    """Each column of an order: its sign, and its number."""
    parts = [part.rpartition("-") for part in order.split(".")]
    return [(dash, int(number)) for _before, dash, number in parts if number.isascii() and number.isdigit()]


def chosen_by(user: User, screen: str) -> str:
    """The columns that a person chose of a list in this shop; empty for none."""
    rows = ListColumns.rows().filter(user=user, screen=screen)
    return rows.values_list("columns", flat=True).first() or ""


def choose(user: User, shop: Any, screen: str, choice: str) -> None:
    """Keep a person's choice; an empty one lets the list be as it comes."""
    if not choice:
        ListColumns.rows().filter(user=user, screen=screen).delete()
    elif len(choice) <= LONGEST:
        ListColumns.objects.update_or_create(shop=shop, user=user, screen=screen, defaults={"columns": choice})


def arranged(order: list[str], ticked: Iterable[str], move: str) -> list[str]:
    """The ticked columns in the order of a form, of which one is moved (``up:name`` or ``down:name``)."""
    wanted = set(ticked)
    names = [name for name in order if name in wanted]
    way, _colon, name = move.partition(":")
    if name in names and way in {"up", "down"}:
        place = names.index(name)
        other = place + (1 if way == "down" else -1)
        if 0 <= other < len(names):
            names[place], names[other] = names[other], names[place]
    return names
