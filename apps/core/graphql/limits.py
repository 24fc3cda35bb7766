"""Limit the cost, the depth and the number of fields of a document.

A field that returns an object costs 1 point, and a mutation costs 10 points. A connection costs 2 points plus the cost
of one row times ``first`` or ``last``. ``nodes`` costs 1 point per ID. An introspection list costs 10 points plus twice
the cost of one object. Scalars are free. Each hundred tokens of the document cost 1 point, which is deducted before
validation. The maximum cost of the fields is deducted before execution (``throttling.spend_points``). Unused points are
restored afterwards.

The depth and the fields are limited while the cost is computed. Strawberry's ``QueryDepthLimiter`` and
``MaxAliasesLimiter`` visit a fragment again for each spread, so a short document could occupy a process forever.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLField,
    GraphQLNamedType,
    GraphQLSchema,
    OperationDefinitionNode,
    SchemaMetaFieldDef,
    SelectionSetNode,
    TypeMetaFieldDef,
    get_named_type,
    get_nullable_type,
    get_operation_ast,
    is_introspection_type,
    is_leaf_type,
    is_list_type,
)
from graphql.execution.values import VariableValues, get_argument_values, get_variable_values
from graphql.language import FragmentSpreadNode, InlineFragmentNode
from strawberry.extensions import SchemaExtension
from strawberry.types.execution import ExecutionResult

from apps.core.graphql.caller import Caller
from apps.core.graphql.documents import MAX_FIELDS, DocumentValidator
from apps.core.graphql.errors import INVALID_VARIABLE, MAX_COST_EXCEEDED, THROTTLED, get_unexpected_error, graphql_error
from apps.core.rest.requests import throttling

MAX_DEPTH = 15
MAX_COST = 1_000
MUTATION_COST = 10
CONNECTION_COST = 2
TOKENS_PER_POINT = 100
# The rows of an introspection list are cheap, and their number depends only on the schema.
INTROSPECTION_LIST_COST = 10
INTROSPECTION_ROWS = 2
# The fields of a connection that contain its rows.
_LIST_FIELDS = frozenset({"edges", "nodes"})
_INTROSPECTION_FIELDS = {"__schema": SchemaMetaFieldDef, "__type": TypeMetaFieldDef}


class CostLimiter(SchemaExtension):
    """Computes a document's cost, deducts the points and opens a transaction for mutations."""

    requested = 0
    actual: int | None = None
    points: throttling.PointsState | None = None
    _measure: "CostCalculator | None" = None

    def on_validate(self) -> Iterator[None]:
        """Deduct the points for the tokens, or skip the validation."""
        self.requested = self._document_cost
        if self.requested:
            self.points = self._spend(self.requested)
            if not self.points.admitted:
                self.execution_context.pre_execution_errors = [graphql_error("Throttled", THROTTLED)]
        yield

    def on_execute(self) -> Iterator[None]:
        """Execute a valid document within the limits, or return errors. An exception rolls back all mutations."""
        if errors := self._admit():
            # GraphQL does not execute the document if a result is already set.
            self.execution_context.result = ExecutionResult(None, errors)
            yield
            return
        changes = self.execution_context.operation_type.value == "mutation"
        with transaction.atomic() if changes else nullcontext():
            yield
            result = self.execution_context.result
            assert result is not None
            defects = [defect for error in result.errors or () if (defect := get_unexpected_error(error)) is not None]
            if changes and defects:
                raise defects[0]
        assert self._measure is not None
        self.actual = self._document_cost + self._measure.compute_actual(result.data or {})
        self.points = self._spend(self.actual - self.requested)

    def get_results(self) -> dict[str, Any]:
        points = self.points or self._spend(0)
        return {
            "cost": {
                "requestedQueryCost": self.requested,
                "actualQueryCost": self.actual,
                "throttleStatus": {
                    "maximumAvailable": float(points.size),
                    "currentlyAvailable": points.available,
                    "restoreRate": points.restore_rate,
                },
            }
        }

    @property
    def _document_cost(self) -> int:
        """Return the points for parsing and validating the document."""
        document = self.execution_context.graphql_document
        assert document is not None
        return document.token_count // TOKENS_PER_POINT

    def _admit(self) -> list[GraphQLError] | None:
        context = self.execution_context
        assert context.graphql_document is not None
        schema: GraphQLSchema = context.schema._schema
        operation = get_operation_ast(context.graphql_document, context.operation_name)
        assert operation is not None
        variables = get_variable_values(schema, operation.variable_definitions or (), context.variables or {})
        if isinstance(variables, list):
            return [
                GraphQLError(error.message, error.nodes, extensions=_variable_problem(error)) for error in variables
            ]
        fragments = {
            definition.name.value: definition
            for definition in context.graphql_document.definitions
            if isinstance(definition, FragmentDefinitionNode)
        }
        try:
            self._measure = CostCalculator(schema, operation, fragments, variables)
            self.requested = self._document_cost + self._measure.compute_maximum()
        except GraphQLError as error:
            return [error]
        if self.requested > MAX_COST:
            message = f"Query cost is {self.requested}, which exceeds the single query max cost limit ({MAX_COST})."
            return [graphql_error(message, MAX_COST_EXCEEDED, cost=self.requested, maxCost=MAX_COST)]
        # ``execute_document`` has already deducted one point, and ``on_validate`` the points for the tokens.
        self.points = self._spend(self.requested - self._document_cost - 1)
        return None if self.points.admitted else [graphql_error("Throttled", THROTTLED)]

    def _spend(self, points: int) -> throttling.PointsState:
        caller: Caller = self.execution_context.context
        return throttling.spend_points(points, app_id=caller.access.installation.app_id, shop=caller.shop)


LIMITS = (CostLimiter, DocumentValidator)


def _variable_problem(error: GraphQLError) -> dict[str, object]:
    return {"code": INVALID_VARIABLE, "problems": [{"explanation": error.message.partition("; ")[2] or error.message}]}


@dataclass(slots=True)
class _SelectedField:
    """A field under a response name, with all merged selections."""

    definition: GraphQLField
    node: FieldNode
    selections: list[SelectionSetNode] = field(default_factory=list)


class CostCalculator:
    """Computes the cost of an operation: the maximum cost before and the actual cost after execution."""

    def __init__(
        self,
        schema: GraphQLSchema,
        operation: OperationDefinitionNode,
        fragments: Mapping[str, FragmentDefinitionNode],
        variables: VariableValues,
    ) -> None:
        self._schema, self._operation, self._fragments, self._variables = schema, operation, fragments, variables
        self._visited_fields = 0

    def compute_maximum(self) -> int:
        """Return the maximum cost. Raise ``GraphQLError`` if the operation is too deep, or has too many fields."""
        return self._cost([self._operation.selection_set], self._root, depth=1, rows=1, data=None)

    def compute_actual(self, data: Mapping[str, Any]) -> int:
        """Return the actual cost of the response. No limits apply, because the response already exists."""
        self._visited_fields = 0
        return self._cost([self._operation.selection_set], self._root, depth=1, rows=1, data=data)

    @property
    def _root(self) -> GraphQLNamedType:
        root = self._schema.get_root_type(self._operation.operation)
        assert root is not None
        return root

    def _cost(
        self,
        selections: Sequence[SelectionSetNode],
        parent: GraphQLNamedType,
        *,
        depth: int,
        rows: int,
        data: Mapping[str, Any] | None,
    ) -> int:
        """Return the cost of an object's fields, or the maximum cost if there is no ``data``."""
        if depth > MAX_DEPTH:
            raise graphql_error(f"The query is too deep (maximum is {MAX_DEPTH} levels)", "MAX_DEPTH_EXCEEDED")
        total = 0
        for key, selected in self._fields(selections, parent, bounded=data is None).items():
            type_ = get_named_type(selected.definition.type)
            if is_leaf_type(type_) or (data is not None and data.get(key) is None):
                continue
            own_cost = _get_own_cost(parent, selected.node.name.value, type_)
            below = self._count(selected) if type_.name.endswith("Connection") else rows
            if is_introspection_type(type_):
                unit = self._cost(selected.selections, type_, depth=depth + 1, rows=rows, data=None)
                is_list = is_list_type(get_nullable_type(selected.definition.type))
                total += INTROSPECTION_LIST_COST + INTROSPECTION_ROWS * unit if is_list else own_cost + unit
                continue
            maximum = self._get_maximum_rows(parent, selected, rows)
            if data is None:
                unit = own_cost + self._cost(selected.selections, type_, depth=depth + 1, rows=below, data=None)
                total += unit * maximum
                continue
            values = data[key] if isinstance(data[key], list) else [data[key]]
            for value in values[:maximum]:
                if value is not None:
                    total += own_cost + self._cost(selected.selections, type_, depth=depth + 1, rows=below, data=value)
        return total

    def _get_maximum_rows(self, parent: GraphQLNamedType, selected: "_SelectedField", rows: int) -> int:
        """Return the maximum number of objects that cost points: the rows of a list, otherwise one."""
        name = selected.node.name.value
        if parent.name.endswith("Connection") and name in _LIST_FIELDS:
            return rows
        if parent is self._schema.query_type and name == "nodes":
            return len(get_argument_values(selected.definition, selected.node, self._variables)["ids"])
        return 1

    def _fields(
        self, selections: Iterable[SelectionSetNode], parent: GraphQLNamedType, *, bounded: bool
    ) -> dict[str, _SelectedField]:
        """Return an object's fields, keyed by response name, with repeated fields merged."""
        fields: dict[str, _SelectedField] = {}
        for node, definition in self._flatten_fields(selections, parent, set()):
            self._visited_fields += bounded
            if self._visited_fields > MAX_FIELDS:
                raise graphql_error(f"The query asks for too many fields (maximum is {MAX_FIELDS})", MAX_COST_EXCEEDED)
            key = node.alias.value if node.alias else node.name.value
            selected = fields.setdefault(key, _SelectedField(definition, node))
            if node.selection_set is not None:
                selected.selections.append(node.selection_set)
        return fields

    def _flatten_fields(
        self, selection_sets: Iterable[SelectionSetNode], parent: GraphQLNamedType, spread_fragments: set[str]
    ) -> Iterator[tuple[FieldNode, GraphQLField]]:
        """Yield the fields, including the fields of fragments but not ``__typename``."""
        for selections in selection_sets:
            for node in selections.selections:
                if isinstance(node, FieldNode):
                    definition = self._get_definition(parent, node.name.value)
                    if definition is not None:
                        yield node, definition
                    continue
                container: InlineFragmentNode | FragmentDefinitionNode
                if isinstance(node, FragmentSpreadNode):
                    if node.name.value in spread_fragments:
                        continue
                    spread_fragments.add(node.name.value)
                    container = self._fragments[node.name.value]
                else:
                    assert isinstance(node, InlineFragmentNode)
                    container = node
                condition = container.type_condition
                kind = parent if condition is None else self._schema.type_map[condition.name.value]
                yield from self._flatten_fields([container.selection_set], kind, spread_fragments)

    def _get_definition(self, parent: GraphQLNamedType, name: str) -> GraphQLField | None:
        if parent is self._schema.query_type and name in _INTROSPECTION_FIELDS:
            return _INTROSPECTION_FIELDS[name]
        return getattr(parent, "fields", {}).get(name)

    def _count(self, selected: _SelectedField) -> int:
        """Return the number of rows that a connection requests. The connection itself reports invalid arguments."""
        arguments = get_argument_values(selected.definition, selected.node, self._variables)
        return max(0, arguments.get("first") or arguments.get("last") or 0)


def _get_own_cost(parent: GraphQLNamedType, name: str, type_: GraphQLNamedType) -> int:
    """Return the cost of a field that returns an object, excluding the fields of the object."""
    if parent.name == "Mutation":
        return MUTATION_COST
    if type_.name.endswith("Connection"):
        return CONNECTION_COST
    return 0 if type_.name == "PageInfo" or (parent.name.endswith("Edge") and name == "node") else 1
