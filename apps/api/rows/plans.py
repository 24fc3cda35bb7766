"""How a resource is read: its columns, its related rows, and the code that makes JSON values of them.

A plan is compiled once per serializer, version and set of fields. It reads the root rows with one query and each kind
of related rows with one more, whatever the number of rows, and builds the objects with a function that is generated
from the declaration: one dict display, no loop over fields.
Source: design notes in ``docs/architecture.md``, "How a read works".
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, cast

from django.db.models import F, Model, QuerySet, Window
from django.db.models.functions import RowNumber

from apps.api.context import Context
from apps.api.resources.fields import ApiField, Render
from apps.api.resources.related import Row, Rows
from apps.api.resources.serializers import Resource, declaration
from apps.api.shapes import Shown
from apps.ground.rows import ShopOwned
from apps.ground.statements import Ids, Statement

Values = Sequence[Any]
# Related values by parent.
Related = dict[int, list[Any]]
Build = Callable[[Values, Context, Sequence[Related]], Shown]
# So many related rows of one kind are read at once for a page; 250 products may have 512,000 variants.
MOST_ROWS = 20_000


class TooManyRows(Exception):
    """The objects have more related rows of one kind than are read at once; fewer objects have fewer."""


class _Code:
    """Collects the columns, functions and related rows that one builder needs."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.columns: list[str] = ["pk"]
        self.names: dict[str, Render] = {}
        self.children: list[Child] = []

    def column(self, path: str) -> str:
        """The source text of a column's value."""
        if path not in self.columns:
            self.columns.append(path)
        return f"r[{self.columns.index(path)}]"

    def function(self, function: Render) -> str:
        """The name under which a function is called."""
        name = f"f{len(self.names)}"
        self.names[name] = function
        return name

    def object(self, fields: Iterable[tuple[str, ApiField]], prefix: str = "") -> str:
        """The source text of one object: a dict display."""
        return "{" + ", ".join(f"{name!r}: {self.value(name, api, prefix)}" for name, api in fields) + "}"

    def value(self, name: str, api: ApiField, prefix: str) -> str:
        """The source text of one field's value."""
        if isinstance(api, Rows):
            return self._rows(name, api, prefix)
        if isinstance(api, Row):
            inner = f"{prefix}{api.relation}__"
            there = self.column(f"{inner}pk")
            return f"({self.object(fields_of(api.serializer, self.version), inner)} if {there} is not None else None)"
        columns = [self.column(prefix + path) for path in api.columns()]
        if api.inline is not None:
            return f"({api.inline.format(*columns)})"
        reader = api.reader()
        return columns[0] if reader is None else f"{self.function(reader)}({', '.join(['c', *columns])})"

    def _rows(self, name: str, api: Rows, prefix: str) -> str:
        if prefix:
            raise TypeError(f"{name}: related rows cannot stand inside a joined object")
        child = Child(api, self.version)
        known = next((index for index, other in enumerate(self.children) if other.same_as(child)), None)
        if known is None:
            self.children.append(child)
            known = len(self.children) - 1
        listed = f"k[{known}].get(r[0], E)"
        return listed if api.derive is None else f"{self.function(api.derive)}(c, {listed})"


class Child:
    """The related rows of a plan: their own plan, and the query that reads them for many parents."""

    def __init__(self, rows: Rows, version: str) -> None:
        self.rows = rows
        self.version = version

    def same_as(self, other: "Child") -> bool:
        """Whether both read the same rows in the same form."""
        mine, its = self.rows, other.rows
        return (mine.serializer, mine.relation, mine.order, mine.limit, mine.where, mine.flat) == (
            its.serializer,
            its.relation,
            its.order,
            its.limit,
            its.where,
            its.flat,
        )

    def prepare(self, parent: type[Model]) -> None:
        """Build the child's own plan and query; ``parent`` is the model whose rows it hangs on."""
        relation = parent._meta.get_field(self.rows.relation)
        model: Any = relation.related_model
        self.parent_column = relation.remote_field.name  # type: ignore[union-attr]
        many = bool(relation.many_to_many)
        if self.rows.serializer is None:
            self.plan: Plan | None = None
            columns: tuple[str, ...] = (self.rows.flat or "pk",)
        else:
            self.plan = Plan(self.rows.serializer, self.version, None)
            columns = self.plan.columns
        parent_path = self.parent_column if many else f"{self.parent_column}_id"
        # A column that is asked for twice comes back once.
        names = columns if parent_path in columns else (*columns, parent_path)
        self.parent_place = names.index(parent_path)

        def build(ids: Ids) -> QuerySet[Model, Values]:
            queryset = _all_rows(model).filter(**{f"{parent_path}__any": ids}, **self.rows.where)
            if self.rows.limit is not None:
                rank = Window(RowNumber(), partition_by=F(parent_path), order_by=self.rows.order)
                queryset = queryset.annotate(place_within=rank).filter(place_within__lte=self.rows.limit)
            return queryset.order_by(*self.rows.order).values_list(*names)

        self.statement: Statement[Values] = Statement(build, list)
        self.bounded: Statement[Values] = Statement(lambda ids: build(ids)[: MOST_ROWS + 1], list)

    def load(self, parents: Sequence[int], context: Context, *, bounded: bool = False) -> Related:
        """The related values by parent.

        Raises:
            TooManyRows: There are more than ``MOST_ROWS``, and it is bounded.
        """
        found: Related = {}
        if not parents:
            return found
        rows = (self.bounded if bounded else self.statement).fetch(parents)
        if bounded and len(rows) > MOST_ROWS:
            raise TooManyRows
        place = self.parent_place
        if self.plan is None:
            for row in rows:
                found.setdefault(row[place], []).append(row[0])
            return found
        for row, built in zip(rows, self.plan.assemble(rows, context, bounded=bounded), strict=True):
            found.setdefault(row[place], []).append(built)
        return found

    def of(self, parent: ShopOwned, context: Context) -> Related:
        """The related values of one parent: from the rows that were written with it, else from the database."""
        rows = parent.written.get(self.rows.relation)
        if rows is None or self.plan is None or self.rows.where:
            return self.load([parent.pk], context)
        for name in reversed(self.rows.order):
            rows = sorted(rows, key=attrgetter(name.lstrip("-")), reverse=name.startswith("-"))
        return {parent.pk: [self.plan.of(row, context) for row in rows[: self.rows.limit]]}


class Plan:
    """A compiled way to read one resource.

    Attributes:
        key: Names the plan: two with the same key read the same.
        columns: The ORM paths of a root row; the first is its id.
    """

    def __init__(self, serializer: Resource, version: str, names: frozenset[str] | None) -> None:
        """Compile the plan; ``names`` narrows it to some of the fields."""
        self.key = (serializer, version, names)
        code = _Code(version)
        fields = [(name, api) for name, api in fields_of(serializer, version) if names is None or name in names]
        body = code.object(fields)
        optional = tuple(name for name, api in fields if api.omitted_when_null)
        drop = "\n    for n in O:\n        if o[n] is None:\n            del o[n]" if optional else ""
        namespace: dict[str, object] = {**code.names, "E": (), "O": optional}
        source = f"def build(r, c, k):\n    o = {body}{drop}\n    return o"
        exec(source, namespace)  # noqa: S102 - text of our own declarations
        self.model: type[Model] = serializer.Meta.model
        self.columns = tuple(code.columns)
        self._getters = [_getter(path) for path in self.columns]
        self._build = cast(Build, namespace["build"])
        self._children = code.children
        for child in self._children:
            child.prepare(self.model)
        self.by_id = Statement(
            lambda ids: _all_rows(self.model).filter(pk__any=ids).order_by().values_list(*self.columns), list
        )

    def assemble(self, rows: Sequence[Values], context: Context, *, bounded: bool = False) -> list[Shown]:
        """The objects of root rows, in their order.

        Raises:
            TooManyRows: They have more related rows of one kind than ``MOST_ROWS``, and it is bounded.
        """
        ids = [row[0] for row in rows]
        related = [child.load(ids, context, bounded=bounded) for child in self._children]
        build = self._build
        return [build(row, context, related) for row in rows]

    def read(self, queryset: QuerySet[Model], context: Context) -> list[Shown]:
        """The objects of a queryset, in its order."""
        return self.assemble(list(queryset.values_list(*self.columns)), context)

    def read_ids(self, ids: Sequence[int], context: Context, *, bounded: bool = False) -> dict[int, Shown]:
        """The objects with these ids in the current shop.

        Raises:
            TooManyRows: They have more related rows of one kind than ``MOST_ROWS``, and it is bounded.
        """
        rows = self.by_id.fetch(ids)
        return dict(zip([row[0] for row in rows], self.assemble(rows, context, bounded=bounded), strict=True))

    def read_one(self, pk: int, context: Context) -> Shown:
        """One object; raises ``KeyError`` where the current shop has none."""
        return self.read_ids([pk], context)[pk]

    def of(self, instance: ShopOwned, context: Context) -> Shown:
        """The object of a row that was just written, whose instance has all values as they are stored."""
        row = [get(instance) for get in self._getters]
        return self._build(row, context, [child.of(instance, context) for child in self._children])


def _getter(path: str) -> Callable[[Model], object]:
    """Reads a column's ORM path from an instance; None where there is no related row."""
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
    """The rows that a plan may read: those of the scope's shop."""
    return model._default_manager.all()


@lru_cache(maxsize=1024)
def plan_for(serializer: Resource, version: str, names: frozenset[str] | None = None) -> Plan:
    """The plan of a resource in a version, with all fields or some."""
    return Plan(serializer, version, names)


def fields_of(serializer: Resource, version: str) -> list[tuple[str, ApiField]]:
    """The readable fields of a resource in a version, in their order."""
    return [
        (name, api)
        for name, api in declaration(serializer).items()
        if not api.write_only and api.gate.admits(version) and api.shown.admits(version)
    ]
