"""Bulk edit targets, which are declared in ``apps/bulk_edits/targets``.

The other modules of this app work with any target.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any, Protocol

from django_stubs_ext import StrOrPromise

from apps.core.registry import Registry
from apps.core.tenancy.shop_owned import ShopOwned
from apps.core.types import Attrs, ReadOnlyAttrs


class WriteFunction(Protocol):
    """Changes a row through its domain function, which validates the values and records events."""

    def __call__(self, row: Any, /, after: ReadOnlyAttrs, *, actor: str, at: datetime) -> None:
        """Set the values of the row. Raise a ``DomainError`` if a value is not allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditTarget:
    """A kind of row that can be edited in bulk.

    Attributes:
        name: The name in the database, at most 9 letters.
        label: The plural name that staff see.
        model: The model of the rows.
        permission: The Django permission to edit the rows.
        granted_by: The staff permission that grants the Django permission.
        fields: The editable fields, in the order of the form.
        lock_row: A function that locks the row, and all other rows that must be locked to change the given fields. The
            function returns the row, or raises ``RowDeleted`` if the row does not exist.
        get_values: A function that returns the values of the given fields as JSON.
        write: See ``WriteFunction``.
        get_version: A function that returns the version of a row, at most 64 characters long. Each change to the row
            changes its version.
        get_name: A function that returns the name of a row for staff.
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
        """Return the Django permission to view the results of edits of this target."""
        return f"bulk.view_{self.name}"


edit_targets = Registry[str, EditTarget]("bulk edit targets", get_key=attrgetter("name"))


def get_target_of_model(model: type[ShopOwned]) -> EditTarget:
    """Return the target for rows of this model.

    Raises:
        LookupError: If the model has no target.
    """
    match = next((kind for kind in edit_targets.values() if kind.model is model), None)
    if match is None:
        raise LookupError(model)
    return match
