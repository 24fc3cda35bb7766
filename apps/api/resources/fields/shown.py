"""Fields that are only shown: columns as they are, and computed values."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from apps.api.resources.fields.base import ApiField, Render

if TYPE_CHECKING:
    from apps.api.context import Context


class Column(ApiField):
    """A read-only column that is shown as it is."""

    def __init__(self, source: str | None = None, **kwargs: Any) -> None:
        """Name the ORM path, where it is not the field's own name."""
        super().__init__(read_only=True, **({"source": source} if source else {}), **kwargs)

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
        schema: Mapping[str, Any] | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> None:
        """Declare what it is made of."""
        super().__init__(read_only=True, since=since, until=until)
        self._args = ()
        self._kwargs: dict[str, Any] = {}
        self.render = render
        self.needed = columns
        self.schema = dict(schema or {"type": "string"})

    def __deepcopy__(self, memo: dict[int, Any]) -> "Computed":
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

    def __init__(self, value: Any, **kwargs: Any) -> None:
        """Name the neutral value."""
        self.value = value
        schemas: dict[type, dict[str, Any]] = {
            type(None): {"type": "null"},
            bool: {"type": "boolean"},
            str: {"type": "string"},
            int: {"type": "integer"},
            list: {"type": "array", "items": {}},
            dict: {"type": "object"},
        }
        super().__init__(lambda _context: value, schema=schemas[type(value)], **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Constant":
        """A fresh declaration."""
        return Constant(self.value, since=self.gate.since, until=self.gate.until)


def GlobalId(type_name: str, column: str = "pk") -> Computed:  # noqa: N802 - reads as a field
    """The ``gid://<brand>/<Type>/<id>`` of a row."""

    def render(context: "Context", pk: int) -> str:
        return f"gid://{context.brand}/{type_name}/{pk}"

    return Computed(render, column)
