"""What one document may ask: its cost in points, and how deep it goes.

A field that gives an object costs 1 point, a mutation 10, a connection 2 and then what each of its rows costs, times
``first`` or ``last``; plain values cost nothing, nor does introspection. The points asked for are taken out of the
bucket of ``throttling.spend`` before anything is done; those that were not needed are given back.
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
    SelectionSetNode,
    get_named_type,
    get_operation_ast,
    is_leaf_type,
)
from graphql.execution.values import VariableValues, get_argument_values, get_variable_values
from graphql.language import FragmentSpreadNode, InlineFragmentNode
from strawberry.extensions import SchemaExtension
from strawberry.types.execution import ExecutionResult

from apps.api.requests import throttling
from apps.graphql.caller import Caller
from apps.graphql.errors import INVALID_VARIABLE, MAX_COST_EXCEEDED, THROTTLED, defect_of, refusal

MAX_TOKENS = 5_000
MAX_DEPTH = 15
MAX_FIELDS = 2_000
MAX_COST = 1_000
MUTATION = 10
CONNECTION = 2
# The lists of a connection.
_ROWS = frozenset({"edges", "nodes"})


class Limits(SchemaExtension):
    """Measures a document, takes its points, and opens the one transaction of a mutation."""

    requested = 0
    actual: int | None = None
    points: throttling.Points | None = None
    _measure: "Measure | None" = None

    def on_operation(self) -> Iterator[None]:
        """Stop reading a document that is far too long."""
        self.execution_context.parse_options["max_tokens"] = MAX_TOKENS
        yield

    def on_execute(self) -> Iterator[None]:
        """Admit a valid document, or answer why not; all its mutations are one transaction, which a defect undoes."""
        if refusals := self._admit():
            # A result that is there already is not worked out.
            self.execution_context.result = ExecutionResult(None, refusals)
            yield
            return
        changes = self.execution_context.operation_type.value == "mutation"
        with transaction.atomic() if changes else nullcontext():
            yield
            result = self.execution_context.result
            assert result is not None
            defects = [defect for error in result.errors or () if (defect := defect_of(error)) is not None]
            if changes and defects:
                raise defects[0]
        assert self._measure is not None
        self.actual = self._measure.actual(result.data or {})
        self.points = self._spend(self.actual - self.requested)

    def get_results(self) -> dict[str, Any]:
        """``extensions`` of the answer."""
        points = self.points or self._spend(0)
        return {
            "cost": {
                "requestedQueryCost": self.requested,
                "actualQueryCost": self.actual,
                "throttleStatus": {
                    "maximumAvailable": float(points.size),
                    "currentlyAvailable": points.available,
                    "restoreRate": points.restored,
                },
            }
        }

    def _admit(self) -> list[GraphQLError] | None:
        context = self.execution_context
        assert context.graphql_document is not None
        schema: GraphQLSchema = context.schema._schema
        operation = get_operation_ast(context.graphql_document, context.operation_name)
        assert operation is not None
        read = get_variable_values(schema, operation.variable_definitions or (), context.variables or {})
        if isinstance(read, list):
            return [GraphQLError(error.message, error.nodes, extensions=_problem(error)) for error in read]
        fragments = {
            each.name.value: each
            for each in context.graphql_document.definitions
            if isinstance(each, FragmentDefinitionNode)
        }
        try:
            self._measure = Measure(schema, operation, fragments, read)
            self.requested = self._measure.requested()
        except GraphQLError as error:
            return [error]
        if self.requested > MAX_COST:
            message = f"Query cost is {self.requested}, which exceeds the single query max cost limit ({MAX_COST})."
            return [refusal(message, MAX_COST_EXCEEDED, cost=self.requested, maxCost=MAX_COST)]
        # One point was taken at the door.
        self.points = self._spend(self.requested - 1)
        return None if self.points.admitted else [refusal("Throttled", THROTTLED)]

    def _spend(self, points: int) -> throttling.Points:
        caller: Caller = self.execution_context.context
        return throttling.spend(points, app_id=caller.access.installation.app_id, shop=caller.shop)


def _problem(error: GraphQLError) -> dict[str, object]:
    return {"code": INVALID_VARIABLE, "problems": [{"explanation": error.message.partition("; ")[2] or error.message}]}


@dataclass(slots=True)
class _Asked:
    """A field under the name that the answer gives it, with everything that is asked of it."""

    known: GraphQLField
    node: FieldNode
    below: list[SelectionSetNode] = field(default_factory=list)


class Measure:
    """Walks an operation as its answer will be: what it costs at most, and what the answer cost."""

    def __init__(
        self,
        schema: GraphQLSchema,
        operation: OperationDefinitionNode,
        fragments: Mapping[str, FragmentDefinitionNode],
        variables: VariableValues,
    ) -> None:
        """Take a valid operation."""
        self._schema, self._operation, self._fragments, self._variables = schema, operation, fragments, variables
        self._visited = 0

    def requested(self) -> int:
        """What it costs at most.

        Raises:
            GraphQLError: It goes too deep, or asks for too many fields.
        """
        return self._cost([self._operation.selection_set], self._root, depth=1, rows=1, found=None)

    def actual(self, data: Mapping[str, Any]) -> int:
        """What the answer cost; its rows are there already, so nothing of it is too much."""
        return self._cost([self._operation.selection_set], self._root, depth=1, rows=1, found=data)

    @property
    def _root(self) -> GraphQLNamedType:
        root = self._schema.get_root_type(self._operation.operation)
        assert root is not None
        return root

    def _cost(
        self,
        asked: Sequence[SelectionSetNode],
        parent: GraphQLNamedType,
        *,
        depth: int,
        rows: int,
        found: Mapping[str, Any] | None,
    ) -> int:
        """What the fields of one object cost; without ``found``, what they cost at most."""
        if depth > MAX_DEPTH:
            raise refusal(f"The query is too deep (maximum is {MAX_DEPTH} levels)", "MAX_DEPTH_EXCEEDED")
        total = 0
        for key, each in self._fields(asked, parent, bounded=found is None).items():
            shown = get_named_type(each.known.type)
            if is_leaf_type(shown) or (found is not None and found.get(key) is None):
                continue
            own = _own(parent, each.node.name.value, shown)
            are_rows = parent.name.endswith("Connection") and each.node.name.value in _ROWS
            below = self._count(each) if shown.name.endswith("Connection") else rows
            if found is None:
                unit = own + self._cost(each.below, shown, depth=depth + 1, rows=below, found=None)
                total += unit * (rows if are_rows else 1)
                continue
            values = found[key] if isinstance(found[key], list) else [found[key]]
            for value in values if are_rows else values[:1]:
                total += own + self._cost(each.below, shown, depth=depth + 1, rows=below, found=value)
        return total

    def _fields(
        self, asked: Iterable[SelectionSetNode], parent: GraphQLNamedType, *, bounded: bool
    ) -> dict[str, _Asked]:
        """The fields of an object by their names in the answer; what is asked for twice is one."""
        fields: dict[str, _Asked] = {}
        for node, known in self._flat(asked, parent, set()):
            self._visited += bounded
            if self._visited > MAX_FIELDS:
                raise refusal(f"The query asks for too many fields (maximum is {MAX_FIELDS})", MAX_COST_EXCEEDED)
            key = node.alias.value if node.alias else node.name.value
            one = fields.setdefault(key, _Asked(known, node))
            if node.selection_set is not None:
                one.below.append(node.selection_set)
        return fields

    def _flat(
        self, asked: Iterable[SelectionSetNode], parent: GraphQLNamedType, spread: set[str]
    ) -> Iterator[tuple[FieldNode, GraphQLField]]:
        """The fields with those of fragments; introspection is left out."""
        for selections in asked:
            for node in selections.selections:
                if isinstance(node, FieldNode):
                    known = getattr(parent, "fields", {}).get(node.name.value)
                    if known is not None:
                        yield node, known
                    continue
                within: InlineFragmentNode | FragmentDefinitionNode
                if isinstance(node, FragmentSpreadNode):
                    if node.name.value in spread:
                        continue
                    spread.add(node.name.value)
                    within = self._fragments[node.name.value]
                else:
                    assert isinstance(node, InlineFragmentNode)
                    within = node
                on = within.type_condition
                kind = parent if on is None else self._schema.type_map[on.name.value]
                yield from self._flat([within.selection_set], kind, spread)

    def _count(self, each: _Asked) -> int:
        """How many rows are asked of a connection; what is wrong with its arguments, the connection itself says."""
        arguments = get_argument_values(each.known, each.node, self._variables)
        return max(0, arguments.get("first") or arguments.get("last") or 0)


def _own(parent: GraphQLNamedType, name: str, shown: GraphQLNamedType) -> int:
    """What a field that gives an object costs itself."""
    if parent.name == "Mutation":
        return MUTATION
    if shown.name.endswith("Connection"):
        return CONNECTION
    return 0 if shown.name == "PageInfo" or (parent.name.endswith("Edge") and name == "node") else 1
