"""Fields that are only rendered, and placeholders for fields of model columns."""

from typing import Unpack

from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields.base import ApiField, Render, TextOptions, VersionOptions
from apps.core.types import Attrs, Schema


class ModelDerivedField(ApiField):
    """A placeholder for a field that DRF builds from the model column. The options override DRF's defaults."""

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        super().__init__()
        self.options: Attrs = {**options}


class ReadOnlyColumn(ApiField):
    """A read-only column that is rendered as stored."""

    def __init__(self, source: str | None = None, **versions: Unpack[VersionOptions]) -> None:
        super().__init__(read_only=True, source=source, **versions)

    def get_columns(self) -> tuple[str, ...]:
        """Return the ORM path, which may cross relations."""
        return (str(self.source),)


class ComputedField(ApiField):
    """A read-only value that ``render`` computes from ``(context, *columns)``. The columns are ORM paths."""

    def __init__(
        self,
        render: Render,
        *columns: str,
        schema: Schema | None = None,
        **versions: Unpack[VersionOptions],
    ) -> None:
        super().__init__(read_only=True, **versions)
        self._args = ()
        self._kwargs: Attrs = {}
        self.render = render
        self.source_columns = columns
        self.schema = {"type": "string"} if schema is None else schema

    def __deepcopy__(self, memo: dict[int, object]) -> "ComputedField":
        """Create a copy with all arguments, because DRF's own copy would lose them."""
        return type(self)(
            self.render,
            *self.source_columns,
            schema=self.schema,
            since=self.version_range.since,
            until=self.version_range.until,
        )

    def get_columns(self) -> tuple[str, ...]:
        return self.source_columns

    def get_renderer(self) -> Render:
        return self.render


class OptionalComputedField(ComputedField):
    """A computed value that rendered objects omit if it is null."""

    omitted_when_null = True


class ConstantField(ComputedField):
    """A field that Backoffice has no data for. Every row renders the same neutral value."""

    def __init__(self, value: object, **versions: Unpack[VersionOptions]) -> None:
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

    def __deepcopy__(self, memo: dict[int, object]) -> "ConstantField":
        return ConstantField(self.value, since=self.version_range.since, until=self.version_range.until)


def global_id_field(type_name: str, column: str = "pk") -> ComputedField:
    """Create a field that renders a row's ``gid://<brand>/<Type>/<id>``."""

    def render(context: RenderContext, pk: int) -> str:
        return f"gid://{context.brand}/{type_name}/{pk}"

    return ComputedField(render, column)
