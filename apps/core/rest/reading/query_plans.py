"""Compile read plans: the columns and related rows of a resource, and a generated function that builds JSON values.

A plan is compiled once per serializer, version and set of fields. It reads the root rows with one query and each kind
of related rows with one more query, for any number of rows. The generated function builds each object with one dict
display instead of a loop over fields.

The section "Reads" in ``docs/internals.md`` explains the design.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, cast

from django.db.models import F, Model, QuerySet, Window
from django.db.models.functions import RowNumber

from apps.core.db.compiled_queries import CompiledQuery, IdList
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import ApiField, Render
from apps.core.rest.resources.nested_rows import NestedObject, NestedRows
from apps.core.rest.resources.serializers import Resource, get_declared_fields
from apps.core.tenancy.shop_owned import ShopOwned
from apps.core.types import Rendered

RowValues = Sequence[Any]
# The values of related rows, keyed by parent id.
RelatedValues = dict[int, list[Any]]
BuildFunction = Callable[[RowValues, RenderContext, Sequence[RelatedValues]], Rendered]
# The maximum number of related rows of one kind per query. Without this limit, a page of 250 products could load
# 512,000 variants at once.
MAX_RELATED_ROWS = 20_000
_get_read = attrgetter("serializer", "relation", "order", "limit", "conditions", "flat")


class TooManyRows(Exception):
    """Raised when objects have too many related rows of one kind to read at once."""


class _Code:
    """Collects the columns, functions and related rows of one builder function."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.columns: list[str] = ["pk"]
        self.names: dict[str, Render] = {}
        self.children: list[RelatedPlan] = []

    def column(self, path: str) -> str:
        """Return the source code of a column's value."""
        if path not in self.columns:
            self.columns.append(path)
        return f"r[{self.columns.index(path)}]"

    def function(self, function: Render) -> str:
        """Register a function and return its name in the source code."""
        name = f"f{len(self.names)}"
        self.names[name] = function
        return name

    def object(self, fields: Iterable[tuple[str, ApiField]], prefix: str = "") -> str:
        """Return the source code of one object, which is a dict display."""
        return "{" + ", ".join(f"{name!r}: {self.value(name, api, prefix)}" for name, api in fields) + "}"

    def value(self, name: str, api: ApiField, prefix: str) -> str:
        """Return the source code of one field's value."""
        if isinstance(api, NestedRows):
            return self._rows(name, api, prefix)
        if isinstance(api, NestedObject):
            inner = f"{prefix}{api.relation}__"
            inner_pk = self.column(f"{inner}pk")
            inner_object = self.object(get_readable_fields(api.serializer, self.version), inner)
            return f"({inner_object} if {inner_pk} is not None else None)"
        columns = [self.column(prefix + path) for path in api.get_columns()]
        if api.inline is not None:
            return f"({api.inline.format(*columns)})"
        reader = api.get_renderer()
        return columns[0] if reader is None else f"{self.function(reader)}({', '.join(['c', *columns])})"

    def _rows(self, name: str, api: NestedRows, prefix: str) -> str:
        if prefix:
            raise TypeError(f"{name}: related rows are not allowed inside a joined object")
        child = RelatedPlan(api, self.version)
        # Fields that read and render the same rows share one query.
        reads = [_get_read(other.rows) for other in (*self.children, child)]
        child_index = reads.index(reads[-1])
        if child_index == len(self.children):
            self.children.append(child)
        rows_code = f"k[{child_index}].get(r[0], E)"
        return rows_code if api.derive is None else f"{self.function(api.derive)}(c, {rows_code})"


class RelatedPlan:
    """Related rows in a plan, with a query that reads the rows of many parents and a plan for each row."""

    def __init__(self, rows: NestedRows, version: str) -> None:
        self.rows = rows
        self.version = version

    def prepare(self, parent: type[Model]) -> None:
        relation = parent._meta.get_field(self.rows.relation)
        model: Any = relation.related_model
        self.parent_column = relation.remote_field.name  # type: ignore[union-attr]
        is_many_to_many = bool(relation.many_to_many)
        self.plan = ReadPlan(self.rows.serializer, self.version, None) if self.rows.serializer else None
        columns = self.plan.columns if self.plan else (self.rows.flat or "pk",)
        parent_path = self.parent_column if is_many_to_many else f"{self.parent_column}_id"
        # Do not read the parent's id twice if the columns already contain it.
        names = columns if parent_path in columns else (*columns, parent_path)
        self.parent_index = names.index(parent_path)

        def build(ids: IdList) -> QuerySet[Model, RowValues]:
            queryset = _all_rows(model).filter(**{f"{parent_path}__any": ids}, **self.rows.conditions)
            if self.rows.limit is not None:
                rank = Window(RowNumber(), partition_by=F(parent_path), order_by=self.rows.order)
                queryset = queryset.annotate(place_within=rank).filter(place_within__lte=self.rows.limit)
            return queryset.order_by(*self.rows.order).values_list(*names)

        self.statement: CompiledQuery[RowValues] = CompiledQuery(build, list)
        self.bounded_statement: CompiledQuery[RowValues] = CompiledQuery(
            lambda ids: build(ids)[: MAX_RELATED_ROWS + 1], list
        )

    def load(self, parents: Sequence[int], context: RenderContext, *, bounded: bool = False) -> RelatedValues:
        """Return the related values by parent id. If ``bounded``, raise ``TooManyRows`` above ``MAX_RELATED_ROWS``."""
        values_by_parent: RelatedValues = {}
        if not parents:
            return values_by_parent
        rows = (self.bounded_statement if bounded else self.statement).fetch(parents)
        if bounded and len(rows) > MAX_RELATED_ROWS:
            raise TooManyRows
        index = self.parent_index
        if self.plan is None:
            for row in rows:
                values_by_parent.setdefault(row[index], []).append(row[0])
            return values_by_parent
        for row, rendered in zip(rows, self.plan.build_objects(rows, context, bounded=bounded), strict=True):
            values_by_parent.setdefault(row[index], []).append(rendered)
        return values_by_parent

    def render_related(self, parent: ShopOwned, context: RenderContext) -> RelatedValues:
        """Return the related values of one parent. Use the rows in memory if the request saved them with the parent."""
        rows = parent.written_related.get(self.rows.relation)
        if rows is None or self.plan is None or self.rows.conditions:
            return self.load([parent.pk], context)
        for name in reversed(self.rows.order):
            rows = sorted(rows, key=attrgetter(name.lstrip("-")), reverse=name.startswith("-"))
        return {parent.pk: [self.plan.render_instance(row, context) for row in rows[: self.rows.limit]]}


class ReadPlan:
    """A compiled plan that reads one resource. Plans with the same ``key`` read the same data."""

    def __init__(self, serializer: Resource, version: str, names: frozenset[str] | None) -> None:
        """Compile a plan for all fields, or for the fields in ``names``."""
        self.key = (serializer, version, names)
        code = _Code(version)
        fields = [
            (name, api) for name, api in get_readable_fields(serializer, version) if names is None or name in names
        ]
        body = code.object(fields)
        optional = tuple(name for name, api in fields if api.omitted_when_null)
        drop = "\n    for n in O:\n        if o[n] is None:\n            del o[n]" if optional else ""
        namespace: dict[str, object] = {**code.names, "E": (), "O": optional}
        source = f"def build(r, c, k):\n    o = {body}{drop}\n    return o"
        exec(source, namespace)  # noqa: S102 - generated from our own declarations
        self.model: type[Model] = serializer.Meta.model
        # The ORM paths of a root row. The first path is the id.
        self.columns = tuple(code.columns)
        self._getters = [_getter(path) for path in self.columns]
        self._build = cast(BuildFunction, namespace["build"])
        self._children = code.children
        for child in self._children:
            child.prepare(self.model)
        self.id_statement = CompiledQuery(
            lambda ids: _all_rows(self.model).filter(pk__any=ids).order_by().values_list(*self.columns), list
        )

    def build_objects(
        self, rows: Sequence[RowValues], context: RenderContext, *, bounded: bool = False
    ) -> list[Rendered]:
        """Build the objects of root rows, in order. ``bounded`` limits each kind of related rows (``TooManyRows``)."""
        ids = [row[0] for row in rows]
        related = [child.load(ids, context, bounded=bounded) for child in self._children]
        build = self._build
        return [build(row, context, related) for row in rows]

    def read_queryset(self, queryset: QuerySet[Model], context: RenderContext) -> list[Rendered]:
        return self.build_objects(list(queryset.values_list(*self.columns)), context)

    def read_ids(self, ids: Sequence[int], context: RenderContext, *, bounded: bool = False) -> dict[int, Rendered]:
        """Return the current shop's objects with these ids, keyed by id. ``bounded`` is as for ``build_objects``."""
        rows = self.id_statement.fetch(ids)
        return dict(zip([row[0] for row in rows], self.build_objects(rows, context, bounded=bounded), strict=True))

    def read_one(self, pk: int, context: RenderContext) -> Rendered:
        """Return the object with this id; raise ``KeyError`` if the current shop has no such row."""
        return self.read_ids([pk], context)[pk]

    def render_instance(self, instance: ShopOwned, context: RenderContext) -> Rendered:
        """Build the object of an instance that was just written and has all stored values in memory."""
        row = [get(instance) for get in self._getters]
        return self._build(row, context, [child.render_related(instance, context) for child in self._children])


def _getter(path: str) -> Callable[[Model], object]:
    """Return a function that reads an ORM path from an instance; it returns None if a related row is missing."""
    names = path.split("__")
    if len(names) == 1:
        return attrgetter(path)

    def get(instance: Model) -> object:
        value: object = instance
        for name in names:
            value = getattr(value, name) if value is not None else None
        return value

    return get


def _all_rows(model: type[Model]) -> QuerySet[Model]:
    """Return the rows of the current shop, the only rows that a plan may read."""
    return model._default_manager.all()


@lru_cache(maxsize=1024)
def get_read_plan(serializer: Resource, version: str, names: frozenset[str] | None = None) -> ReadPlan:
    """Return the plan of a resource in a version, with all fields or with the fields in ``names``."""
    return ReadPlan(serializer, version, names)


def get_readable_fields(serializer: Resource, version: str) -> list[tuple[str, ApiField]]:
    """Return the readable fields of a resource in a version, in declaration order."""
    return [
        (name, api)
        for name, api in get_declared_fields(serializer).items()
        if not api.write_only and api.version_range.includes(version) and api.rendered_versions.includes(version)
    ]
