"""Related rows inside their parent: rendered with it, and optionally created with it."""

from collections.abc import Mapping, Sequence
from typing import Unpack

from django.core.exceptions import ValidationError

from apps.api.resources.fields import ApiField, Check, Render
from apps.api.resources.fields.options import FieldOptions
from apps.api.resources.filters import parse_id
from apps.api.resources.nested_objects import check_objects
from apps.api.resources.serializers import Resource, check_body
from apps.api.types import Attrs, Errors, RequestData, Schema


class NestedObject(ApiField):
    """A related object inside its parent, read with a join, or null if there is none."""

    def __init__(self, serializer: Resource, relation: str, **options: Unpack[FieldOptions]) -> None:
        """Create a read-only field for a relation and the serializer of the related object."""
        super().__init__(read_only=True, **options)
        self.serializer = serializer
        self.relation = relation
        # The field that validates this object in a body, if it differs from the rendered object.
        self.body_field: ApiField | None = None


class NestedRows(ApiField):
    """The related rows inside their parent, read with one query for all parents.

    Args:
        serializer: The serializer of a row.
        relation: The accessor of the rows on the parent.
        order: ORM orderings within a parent.
        limit: The maximum number of rows per parent.
        where: Additional conditions, as keyword lookups.
        flat: Render a list of this column's values instead of objects.
        derive: Computes the rendered value from ``(context, list)``.
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
        super().__init__(read_only=True, **options)
        self.serializer = serializer
        self.relation = relation
        self.order = tuple(order)
        self.limit = limit
        self.conditions = dict(where or {})
        self.flat = flat
        self.derive = derive
        self.schema = schema


class WritableNestedRows(NestedRows):
    """Related rows that are always rendered, and created with their parent; absent and null mean no rows.

    Args:
        most: The maximum number of rows.
        accepts_ids: If True, a row of the body may refer to an existing row by its id, which is passed on as ``id``.
    """

    def __init__(
        self,
        serializer: Resource,
        relation: str,
        *,
        most: int,
        order: Sequence[str] = ("pk",),
        limit: int | None = None,
        accepts_ids: bool = False,
        **options: Unpack[FieldOptions],
    ) -> None:
        super().__init__(serializer, relation, order=order, limit=limit, **options)
        self.row_serializer = serializer
        self.max_rows = most
        self.accepts_ids = accepts_ids
        self.read_only = False
        self.required = False
        self.allow_null = True

    def get_validator(self, version: str) -> Check:
        """Return the function that validates the rows in this version."""

        def check(data: object) -> list[Attrs] | None:
            if data is None:
                return None
            return check_objects(data, self.max_rows, lambda item: self._check_row(item, version))

        return check

    def _check_row(self, item: RequestData, version: str) -> tuple[Attrs, Errors]:
        attrs, errors = check_body(self.row_serializer, version, item)
        if self.accepts_ids and item.get("id") is not None:
            try:
                attrs["id"] = parse_id(str(item["id"]))
            except ValidationError as error:
                errors["id"] = error.messages
        return attrs, errors
