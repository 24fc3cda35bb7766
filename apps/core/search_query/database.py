"""Compile queries to Django conditions, for search in the panel and in the REST API.

A resource declares its search fields once::

    SEARCH = SearchFields(
        fields={
            "email": Words("email", after=" @.-_"),
            "state": Choice("state", Customer.State.values),
            "total_spent": Number("total_spent"),
            "city": Related(lambda: Address.objects.all(), "customer_id", Words("city")),
        },
        default_fields=("email", "city"),
        rows=lambda: Customer.objects.all(),
    )
    customers.filter(SEARCH.compile(SEARCH.parse(text), zone=shop.zone))

An unknown field matches no rows, because clients of the REST API expect that. Text conditions use ``UPPER(column)
LIKE``, so that PostgreSQL can use an index ``gin (upper(column) gin_trgm_ops)``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from functools import reduce
from itertools import product
from math import prod
from operator import or_

from django.db.models import Model, Q, QuerySet

from apps.core.db.lookups import in_materialized
from apps.core.search_query.fields import InvalidValueError, SearchField
from apps.core.search_query.multiword_values import expand_multiword_values
from apps.core.search_query.nodes import And, Kind, Node, Not, Or, Term, iterate_terms
from apps.core.search_query.parser import parse_search

MATCH_NOTHING = Q(pk__in=())
_NESTED_UNIONS = 2
_MAX_ALTERNATIVES = 8


class QueryValueError(ValueError):
    """Raised when a value does not fit its field. ``position`` is the 0-based offset of the term in characters."""

    def __init__(self, field: str, message: str, position: int) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message
        self.position = position


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFields:
    """The search fields of a resource.

    Attributes:
        fields: The fields, keyed by their names in queries.
        default_fields: The names of the fields that a bare word searches. A field is skipped if the word is not a valid
            value for the field's type.
        rows: A function that returns the rows to search. Only needed if an OR or a bare word searches both columns of
            the row and related rows (fields with ``is_related``). A single OR would scan the table, so each alternative
            becomes a separate query with an index.

    A field with a column in another table (in a one-to-one relation) has a ``table(term)`` method. No index supports
    an OR over several tables, so ``compile_alternatives`` splits the OR by table.
    """

    fields: Mapping[str, SearchField]
    default_fields: tuple[str, ...] = ()
    rows: Callable[[], QuerySet[Model]] | None = None

    def parse(self, text: str) -> Node:
        """Parse a search with ``parse_search``. Text values may have several words (see ``multiword_values``)."""
        texts = {name for name, field in self.fields.items() if getattr(field, "takes_words", False)}
        return expand_multiword_values(parse_search(text), text, texts)

    def compile(self, node: Node, *, zone: tzinfo) -> Q:
        """Compile a query to a condition for ``QuerySet.filter``. ``zone`` applies to dates without an offset."""
        return self._compile(node, zone, negated=False, unions=_NESTED_UNIONS)

    def compile_alternatives(self, node: Node, *, zone: tzinfo) -> list[Q]:
        """Compile a query to alternative conditions. Most queries have only one alternative.

        An OR over several tables is split into one condition per table, plus one condition for each operand that reads
        several tables or related rows. Each condition is combined with the remaining parts of the query, unless this
        produces too many conditions. The caller reads the first rows of each condition with a suitable index, and
        merges these rows into a page (``apps.core.rest.reading.keyset_pagination.filter_any_by_cursor``).
        """
        return [self.compile(disjunct, zone=zone) for disjunct in self._split_disjuncts(node)]

    def _split_disjuncts(self, node: Node) -> list[Node]:
        node = _push_down_negation(node)
        if isinstance(node, Or) and len(parts := self._group_by_table(node)) > 1:
            disjuncts = [disjunct for operand in parts for disjunct in self._split_disjuncts(operand)]
            return disjuncts if len(disjuncts) <= _MAX_ALTERNATIVES else [node]
        if isinstance(node, And):
            choices = [self._split_disjuncts(operand) for operand in node.operands]
            if 1 < prod(map(len, choices)) <= _MAX_ALTERNATIVES:
                return [And(operands) for operands in product(*choices)]
        return [node]

    def _group_by_table(self, node: Or) -> list[Node]:
        """Group the operands of an OR by table, if an operand reads only one table.

        Operands with several tables or related rows are not grouped.
        """
        groups: dict[str, list[Node]] = {}
        singles: list[Node] = []
        for operand in node.operands:
            tables = {
                self._get_table(name, term) for term in iterate_terms(operand) for name in self._get_field_names(term)
            }
            if len(tables) == 1 and not self._reads_related(operand):
                groups.setdefault(tables.pop(), []).append(operand)
            else:
                singles.append(operand)
        return [group[0] if len(group) == 1 else Or(tuple(group)) for group in groups.values()] + singles

    def _get_table(self, name: str, term: Term) -> str:
        table: Callable[[Term], str] | None = getattr(self.fields.get(name), "table", None)
        return table(term) if table else ""

    def _get_field_names(self, term: Term) -> tuple[str, ...]:
        return (term.field,) if term.field else self.default_fields

    def _compile_field_term(self, term: Term, name: str, zone: tzinfo, negated: bool) -> Q:
        if name not in self.fields:
            return MATCH_NOTHING
        field = self.fields[name]
        if term.kind is Kind.SUFFIX and not getattr(field, "takes_endings", False):
            raise QueryValueError(
                name, f"'*{term.value}' is a suffix, but this field does not support suffixes", term.position
            )
        if negated:
            # Some fields compile to an imprecise condition that can use an index. Negations need the exact condition.
            field = getattr(field, "exact", field)
        try:
            return field.build_condition(term, zone)
        except InvalidValueError as error:
            raise QueryValueError(name, str(error), term.position) from None

    def _compile_bare(self, term: Term, zone: tzinfo) -> list[Q]:
        if term.kind is Kind.PRESENT:
            return [~MATCH_NOTHING]
        conditions = []
        for name in self.default_fields:
            try:
                conditions.append(self.fields[name].build_condition(term, zone))
            except InvalidValueError:
                continue
        return conditions or [MATCH_NOTHING]

    def _compile(self, node: Node, zone: tzinfo, *, negated: bool, unions: int) -> Q:
        """Compile a node. Negations are pushed down to the terms, and the deepest operand of each group comes first.

        Otherwise, the SQL could exceed the 100 open symbols that SQLite's parser allows: "a OR NOT (b AND NOT (c" opens
        five symbols per level, but "(((c" only one.
        """
        if isinstance(node, Not):
            return self._compile(node.operand, zone, negated=not negated, unions=unions)
        if isinstance(node, Term):
            branches = (
                self._compile_bare(node, zone)
                if node.field is None
                else [self._compile_field_term(node, node.field, zone, negated)]
            )
            branches = [~branch for branch in branches] if negated else branches
        else:
            operands = sorted(node.operands, key=_depth, reverse=True)
            within = unions - isinstance(node, Or)
            branches = [self._compile(operand, zone, negated=negated, unions=within) for operand in operands]
        if isinstance(node, And) is not negated:
            return Q(*branches)
        if negated or len(branches) == 1 or unions < 1 or self.rows is None or not self._reads_related(node):
            return reduce(or_, branches)
        first, *remaining = (self.rows().filter(branch).order_by().values("pk") for branch in branches)
        return in_materialized(first.union(*remaining, all=True))

    def _reads_related(self, node: Node) -> bool:
        names = (name for term in iterate_terms(node) for name in self._get_field_names(term))
        return any(getattr(self.fields.get(name), "is_related", False) for name in names)


def _push_down_negation(node: Node) -> Node:
    """Push a leading NOT one level down, into the operands of its group."""
    if not isinstance(node, Not) or isinstance(node.operand, Term):
        return node
    if isinstance(node.operand, Not):
        return _push_down_negation(node.operand.operand)
    opposite = Or if isinstance(node.operand, And) else And
    return opposite(tuple(map(Not, node.operand.operands)))


def _depth(node: Node) -> int:
    if isinstance(node, Term):
        return 0
    return 1 + (_depth(node.operand) if isinstance(node, Not) else max(map(_depth, node.operands)))
