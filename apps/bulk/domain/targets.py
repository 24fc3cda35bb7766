"""Registry of bulk edit targets, which are declared in ``apps/bulk/targets``.

Bulk edits work through these declarations and know no target by name.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from django_stubs_ext import StrOrPromise

from apps.bulk.models import TARGET_LABELS
from apps.ground.base_models import ShopOwned
from apps.ground.types import Attrs, ReadOnlyAttrs


class WriteFunction(Protocol):
    """Changes a row through its domain function, which validates and records events."""

    def __call__(self, row: Any, /, after: ReadOnlyAttrs, *, actor: str, at: datetime) -> None:
        """Set the values of the row; raise a ``DomainError`` if they are not allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditTarget:
    """A kind of row that can be edited in bulk.

    Attributes:
        name: The name in the database, at most 9 letters.
        label: The plural name for staff.
        model: The model of the rows.
        permission: The required Django permission.
        granted_by: The staff permission that grants it.
        fields: The editable fields, in the order of the form.
        lock_row: Locks and returns a row with everything that a write of these fields locks; raises ``RowDeleted``.
        get_values: Returns the values of these fields as JSON.
        write: See ``WriteFunction``.
        get_version: Returns a text of at most 64 characters that differs after each change of the row.
        get_name: Returns the name of a row for staff.
    """

    name: str
    label: StrOrPromise
    model: type[ShopOwned]
    permission: str
    granted_by: str
    fields: tuple[str, ...]
    lock_row: Callable[[int, Collection[str]], Any]
    get_values: Callable[[Any, Collection[str]], Attrs]
    write: WriteFunction
    get_version: Callable[[int], str]
    get_name: Callable[[Any], str]

    @property
    def view_permission(self) -> str:
        """Return the Django permission to view results of such edits."""
        return f"bulk.view_{self.name}"


_kinds: dict[str, EditTarget] = {}


def register_target(kind: EditTarget) -> None:
    """Register a target; call it from ``AppConfig.ready()``.

    Raises:
        ValueError: If the name is registered already.
    """
    if kind.name in _kinds:
        raise ValueError(f"The kind {kind.name!r} is registered twice")
    _kinds[kind.name] = kind
    TARGET_LABELS[kind.name] = kind.label


def get_target(name: str) -> EditTarget:
    """Return a target by name.

    Raises:
        KeyError: If the name is unknown.
    """
    return _kinds[name]


def get_target_of_model(model: type[ShopOwned]) -> EditTarget:
    """Return the target of a model.

    Raises:
        LookupError: If the model has no target.
    """
    match = next((kind for kind in _kinds.values() if kind.model is model), None)
    if match is None:
        raise LookupError(model)
    return match


def get_all_targets() -> list[EditTarget]:
    return list(_kinds.values())
