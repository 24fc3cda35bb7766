"""The kinds of rows that are changed in bulk: declared in ``apps/bulk/kinds``, registered at start.

Bulk edits work through what is declared here and know no kind by its name.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from django_stubs_ext import StrOrPromise

from apps.bulk.models import LABELS
from apps.ground.attrs import Attrs, Given
from apps.ground.rows import ShopOwned


class Write(Protocol):
    """Changes a row through the service of its domain, which checks, records and tells."""

    def __call__(self, row: Any, /, after: Given, *, actor: str, at: datetime) -> None:
        """Give the row these values; raises a ``DomainError`` where the rules do not allow them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What is changed in bulk.

    Attributes:
        name: In the database, at most 9 letters.
        label: For people, in the plural.
        model: Each of its rows is changed by itself.
        permission: The Django permission that people need.
        granted_by: The staff permission that grants it.
        fields: What an edit can change, in the order in which people are offered it.
        hold: The row of an id as it is, with what a write of these fields locks; raises ``Gone``.
        values: The values of these fields, as JSON can hold them.
        write: See ``Write``.
        mark: A text that is another one as soon as somebody changes the row; of at most 64 characters.
        name_of: What people call a row.
    """

    name: str
    label: StrOrPromise
    model: type[ShopOwned]
    permission: str
    granted_by: str
    fields: tuple[str, ...]
    hold: Callable[[int, Collection[str]], Any]
    values: Callable[[Any, Collection[str]], Attrs]
    write: Write
    mark: Callable[[int], str]
    name_of: Callable[[Any], str]

    @property
    def view_permission(self) -> str:
        """The Django permission to read what was changed of such rows."""
        return f"bulk.view_{self.name}"


_kinds: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    """Add a kind; called from ``AppConfig.ready()``.

    Raises:
        ValueError: There is one with this name.
    """
    if kind.name in _kinds:
        raise ValueError(f"The kind {kind.name!r} is registered twice")
    _kinds[kind.name] = kind
    LABELS[kind.name] = kind.label


def named(name: str) -> Kind:
    """The kind with a name.

    Raises:
        KeyError: There is none.
    """
    return _kinds[name]


def kind_of(model: type[ShopOwned]) -> Kind:
    """The kind of a model's rows.

    Raises:
        LookupError: They are not changed in bulk.
    """
    found = next((kind for kind in _kinds.values() if kind.model is model), None)
    if found is None:
        raise LookupError(model)
    return found


def all_kinds() -> list[Kind]:
    """What is changed in bulk."""
    return list(_kinds.values())
