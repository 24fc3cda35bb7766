"""Fields for related rows that are rendered with their parent and, optionally, written with it."""

from collections.abc import Mapping, Sequence
from typing import Unpack

from django.core.exceptions import ValidationError

from apps.core.rest.resources.fields import ApiField, Check, FieldOptions, Render
from apps.core.rest.resources.filters import parse_id
from apps.core.rest.resources.nested_objects import check_objects
from apps.core.rest.resources.serializers import Resource, check_body
from apps.core.types import Attrs, Errors, RequestData, Schema


class NestedObject(ApiField):
    """A related object that is read with a join, or null if there is no related object."""

    def __init__(self, serializer: Resource, relation: str, **options: Unpack[FieldOptions]) -> None:
        super().__init__(read_only=True, **options)
        self.serializer = serializer
        self.relation = relation
        # The field that validates this object in request bodies, if its format differs between request bodies and
        # responses.
        self.body_field: ApiField | None = None


class NestedRows(ApiField):
    """A list of related rows, read with one query for all parents.

    ``limit`` is the maximum number of rows per parent. ``where`` has additional conditions as keyword lookups. ``flat``
    renders a list of this column's values instead of objects. ``derive`` computes the rendered value from ``(context,
    list)``.
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
    """A list of at most ``most`` related rows that the body of the parent may contain. The list may be absent or null.

    If ``accepts_ids``, a row may contain the id of an existing row, which services receive as the attribute ``id``.
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
        """Return the function that validates the rows in a version."""

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
