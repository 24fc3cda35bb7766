"""Fields that are only shown: columns as they are, and computed values."""

from typing import Unpack

from apps.api.context import Context
from apps.api.resources.fields.base import ApiField, Render
from apps.api.resources.fields.options import Versions
from apps.api.shapes import Attrs, Schema


class Column(ApiField):
    """A read-only column that is shown as it is."""

    def __init__(self, source: str | None = None, **versions: Unpack[Versions]) -> None:
        """Name the ORM path, where it is not the field's own name."""
        super().__init__(read_only=True, source=source, **versions)

    def columns(self) -> tuple[str, ...]:
        """Its ORM path, which may cross relations."""
        return (str(self.source),)


class Computed(ApiField):
    """A read-only value made of columns of the row.

    Args:
        render: ``(context, *columns)`` to the JSON value.
        columns: The ORM paths that it needs.
        schema: Its JSON schema.
    """

    def __init__(
        self,
        render: Render,
        *columns: str,
        schema: Schema | None = None,
        **versions: Unpack[Versions],
    ) -> None:
        """Declare what it is made of."""
        super().__init__(read_only=True, **versions)
        self._args = ()
        self._kwargs: Attrs = {}
        self.render = render
        self.needed = columns
        self.schema = schema or {"type": "string"}

    def __deepcopy__(self, memo: dict[int, object]) -> "Computed":
        """A fresh declaration, as DRF copies fields by their arguments."""
        return type(self)(self.render, *self.needed, schema=self.schema, since=self.gate.since, until=self.gate.until)

    def columns(self) -> tuple[str, ...]:
        """What it needs."""
        return self.needed

    def reader(self) -> Render:
        """Its function."""
        return self.render


class Constant(Computed):
    """A field that this product has no data for, answered with its neutral value."""

    def __init__(self, value: object, **versions: Unpack[Versions]) -> None:
        """Name the neutral value."""
        self.value = value
        schemas: dict[type, Schema] = {
            type(None): {"type": "null"},
            bool: {"type": "boolean"},
            str: {"type": "string"},
            int: {"type": "integer"},
            list: {"type": "array", "items": {}},
            dict: {"type": "object"},
        }
        super().__init__(lambda _context: value, schema=schemas[type(value)], **versions)

    def __deepcopy__(self, memo: dict[int, object]) -> "Constant":
        """A fresh declaration."""
        return Constant(self.value, since=self.gate.since, until=self.gate.until)


def GlobalId(type_name: str, column: str = "pk") -> Computed:  # noqa: N802 - reads as a field
    """The ``gid://<brand>/<Type>/<id>`` of a row."""

    def render(context: Context, pk: int) -> str:
        return f"gid://{context.brand}/{type_name}/{pk}"

    return Computed(render, column)
