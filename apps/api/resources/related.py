"""Related rows inside their parent: one or many, shown, and taken when the parent is made."""

from collections.abc import Mapping, Sequence
from typing import Unpack

from django.core.exceptions import ValidationError

from apps.api.resources.fields import ApiField, Check, Render
from apps.api.resources.fields.options import FieldOptions
from apps.api.resources.filters import read_id
from apps.api.resources.members import check_objects
from apps.api.resources.serializers import Resource, check_body
from apps.api.shapes import Attrs, Data, Errors, Schema


class Row(ApiField):
    """A related object shown inside its parent, read with a join; null where there is none."""

    def __init__(self, serializer: Resource, relation: str, **options: Unpack[FieldOptions]) -> None:
        """Name the relation and what is shown of it."""
        super().__init__(read_only=True, **options)
        self.serializer = serializer
        self.relation = relation
        # What a body may say of it, where that is not what is shown.
        self.taken: ApiField | None = None


class Rows(ApiField):
    """The related rows shown inside their parent, read with one query for all parents.

    Args:
        serializer: What is shown of each.
        relation: The parent's name for them.
        order: ORM orderings within a parent.
        limit: At most so many per parent.
        where: Further conditions, as keyword lookups.
        flat: Show a list of this column's values in place of objects.
        derive: ``(context, list)`` makes the shown value out of the list.
    """

    def __init__(
        self,
        serializer: Resource | None,
        relation: str,
        *,
        order: Sequence[str] = ("pk",),
        limit: int | None = None,
        where: Mapping[str, object] | None = None,
        flat: str | None = None,
        derive: Render | None = None,
        schema: Schema | None = None,
        **options: Unpack[FieldOptions],
    ) -> None:
        """Name the relation and what is shown of it."""
        super().__init__(read_only=True, **options)
        self.serializer = serializer
        self.relation = relation
        self.order = tuple(order)
        self.limit = limit
        self.where = dict(where or {})
        self.flat = flat
        self.derive = derive
        self.schema = schema


class TakenRows(Rows):
    """Related rows that are shown always, and taken when their parent is made; absent and null mean none.

    Args:
        most: How many may come.
        named: Whether a row of the body may name an existing one by its id, which is then given as ``id``.
    """

    def __init__(
        self,
        serializer: Resource,
        relation: str,
        *,
        most: int,
        order: Sequence[str] = ("pk",),
        limit: int | None = None,
        named: bool = False,
        **options: Unpack[FieldOptions],
    ) -> None:
        """As ``Rows``."""
        super().__init__(serializer, relation, order=order, limit=limit, **options)
        self.taken = serializer
        self.most = most
        self.named = named
        self.read_only = False
        self.required = False
        self.allow_null = True

    def checker(self, version: str) -> Check:
        """Checks the rows as this version takes them."""

        def check(data: object) -> list[Attrs] | None:
            if data is None:
                return None
            return check_objects(data, self.most, lambda item: self._check_row(item, version))

        return check

    def _check_row(self, item: Data, version: str) -> tuple[Attrs, Errors]:
        attrs, errors = check_body(self.taken, version, item)
        if self.named and item.get("id") is not None:
            try:
                attrs["id"] = read_id(str(item["id"]))
            except ValidationError as error:
                errors["id"] = error.messages
        return attrs, errors
