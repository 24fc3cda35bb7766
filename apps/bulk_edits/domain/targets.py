"""The interface and the registry of bulk edit targets. The other modules of ``domain`` work with any target."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from datetime import datetime
from operator import attrgetter
from typing import Any

from django.db.models import QuerySet
from django_stubs_ext import StrOrPromise

from apps.core.db.row_locks import get_for_update
from apps.core.registry import Registry
from apps.core.tenancy.shop_owned import ShopOwned
from apps.core.types import Attrs, ReadOnlyAttrs


class EditTarget(ABC):
    """A kind of row that can be edited in bulk.

    Attributes:
        name: The name in the database, at most 9 letters.
        label: The plural name that staff see.
        permission: The Django permission to edit the rows.
        granted_by: The staff permission that grants the Django permission.
        fields: The editable fields, in the order of the form.
    """

    name: str
    label: StrOrPromise
    model: type[ShopOwned]
    permission: str
    granted_by: str
    fields: tuple[str, ...]

    @property
    def view_permission(self) -> str:
        """Return the Django permission to view the results of edits of this target."""
        return f"bulk_edits.view_{self.name}"

    def lock_row(self, pk: int, names: Collection[str]) -> Any:
        """Lock the row, and all other rows that must be locked to change the fields. Raise ``RowDeleted`` if needed."""
        return get_for_update(self.model, pk)

    @abstractmethod
    def get_values(self, row: Any, names: Collection[str]) -> Attrs:
        """Return the values of the fields as JSON."""

    @abstractmethod
    def write(self, row: Any, after: ReadOnlyAttrs, *, actor: str, at: datetime) -> None:
        """Change the row through its domain function. Raise a ``DomainError`` if a value is not allowed."""

    def get_version(self, pk: int) -> str:
        """Return at most 64 characters that differ after each change to the row."""
        rows: QuerySet[Any] = self.model.objects.all()
        return str(rows.values_list("version", flat=True).get(pk=pk))

    def get_name(self, row: Any) -> str:
        return str(row)


edit_targets = Registry[str, EditTarget]("bulk edit targets", get_key=attrgetter("name"))
