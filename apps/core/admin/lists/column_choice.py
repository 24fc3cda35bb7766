"""Determine the columns of a list: the defaults, or the user's choice in the user's order.

A list offers the columns in ``list_display``, followed by ``optional_columns``. The user's choice is stored per user,
shop and list. The URL parameter ``columns``, which saved views also use, overrides the choice. The sort parameter ``o``
refers to a column by its number among all offered columns, so the numbers do not depend on which columns are visible.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import label_for_field
from django.utils.text import capfirst

from apps.core.tenancy.models import ListColumns, User

COLUMNS_VAR = "columns"
# Lists with fewer columns have no column chooser.
MIN_CHOOSABLE_COLUMNS = 4
MAX_CHOICE_LENGTH = 1000
_CHECKBOX_COLUMNS = frozenset({"action_checkbox", ACTION_CHECKBOX_NAME})


@dataclass(frozen=True, slots=True)
class Column:
    """A column in the column chooser. ``is_required`` is True if users cannot hide the column."""

    name: str
    label: str
    is_visible: bool
    is_required: bool
    is_first: bool = False
    is_last: bool = False


class Columns:
    """The columns of a list for a request. Users cannot hide the columns in ``links``.

    ``choice`` contains the chosen names, separated by dots, or is empty for the defaults. Unknown names are ignored.
    """

    def __init__(self, model_admin: Any, defaults: Sequence[Any], links: Sequence[Any] | None, choice: str) -> None:
        self._model_admin = model_admin
        self._checkboxes = [name for name in defaults if name in _CHECKBOX_COLUMNS]
        self.defaults = [name for name in defaults if name not in _CHECKBOX_COLUMNS]
        self._available = [
            *self.defaults,
            *(name for name in model_admin.optional_columns if name not in self.defaults),
        ]
        self.choosable = len(self._available) >= MIN_CHOOSABLE_COLUMNS and all(
            isinstance(name, str) for name in self._available
        )
        self.required = [name for name in self.defaults if name in (links or self.defaults[:1])]
        self.chosen = self._filter_valid(choice.split(".")) if choice and self.choosable else self.defaults

    def _filter_valid(self, names: Iterable[str]) -> list[str]:
        valid = [name for name in dict.fromkeys(names) if name in self._available]
        return [*(name for name in self.required if name not in valid), *valid]

    @property
    def visible(self) -> list[Any]:
        return [*self._checkboxes, *self.chosen]

    @property
    def _all_columns(self) -> list[Any]:
        return [*self._checkboxes, *self._available]

    @property
    def choice(self) -> str:
        """Return the chosen column names for a URL, separated by dots, or an empty string for the defaults."""
        return "" if self.chosen == self.defaults else ".".join(self.chosen)

    def rows(self) -> list[Column]:
        """Return all offered columns: first the visible columns in their order, then the others."""
        last = len(self.chosen) - 1
        visible = [
            Column(name, self.label(name), True, name in self.required, index == 0, index == last)
            for index, name in enumerate(self.chosen)
        ]
        return visible + [
            Column(name, self.label(name), False, False) for name in self._available if name not in self.chosen
        ]

    @property
    def order(self) -> str:
        return ".".join(row.name for row in self.rows())

    def label(self, name: str) -> str:
        return capfirst(str(label_for_field(name, self._model_admin.model, self._model_admin)))

    def parse_url_order(self, order: str) -> tuple[str, list[str]]:
        """Convert a URL's sort order to the numbers of visible columns, and return the labels of hidden columns."""
        visible, hidden_labels = [], []
        for sign, number in _parse_order(order):
            name = self._all_columns[number] if number < len(self._all_columns) else None
            if name in self.visible:
                visible.append(f"{sign}{self.visible.index(name)}")
            elif name is not None:
                hidden_labels.append(self.label(name))
        return ".".join(visible), hidden_labels

    def build_url_order(self, order: str) -> str:
        """Convert a sort order of visible columns to the column numbers used in URLs."""
        visible = [(sign, self.visible[number]) for sign, number in _parse_order(order) if number < len(self.visible)]
        return ".".join(f"{sign}{self._all_columns.index(name)}" for sign, name in visible)


def _parse_order(order: str) -> list[tuple[str, int]]:
    parts = [part.rpartition("-") for part in order.split(".")]
    return [(dash, int(number)) for _before, dash, number in parts if number.isascii() and number.isdigit()]


def get_chosen_columns(user: User, screen: str) -> str:
    rows = ListColumns.rows().filter(user=user, screen=screen)
    return rows.values_list("columns", flat=True).first() or ""


def save_chosen_columns(user: User, shop: Any, screen: str, choice: str) -> None:
    if not choice:
        ListColumns.rows().filter(user=user, screen=screen).delete()
    elif len(choice) <= MAX_CHOICE_LENGTH:
        ListColumns.objects.update_or_create(shop=shop, user=user, screen=screen, defaults={"columns": choice})


def reorder_columns(order: list[str], ticked: Iterable[str], move: str) -> list[str]:
    """Return the checked columns in form order, after a ``move`` such as ``up:name`` or ``down:name``."""
    ticked_names = set(ticked)
    names = [name for name in order if name in ticked_names]
    direction, _colon, name = move.partition(":")
    if name in names and direction in {"up", "down"}:
        index = names.index(name)
        other = index + (1 if direction == "down" else -1)
        if 0 <= other < len(names):
            names[index], names[other] = names[other], names[index]
    return names
