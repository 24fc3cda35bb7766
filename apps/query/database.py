"""Queries as Django conditions: search in the staff panel and in the REST interface.

A resource declares once what its search knows::

    SEARCH = SearchFields(
        fields={
            "email": Words("email", after=" @.-_"),
            "state": Choice("state", Customer.State.values),
            "total_spent": Number("total_spent"),
            "city": Related(lambda: Address.objects.all(), "customer_id", Words("city")),
        },
        bare=("email", "city"),
        rows=lambda: Customer.objects.all(),
    )
    customers.filter(SEARCH.compile(parse(text), zone=shop.zone))

A field that the declaration does not know matches no row, as clients of this interface expect. Text conditions use
``UPPER(column) LIKE``, which PostgreSQL answers from an index ``gin (upper(column) gin_trgm_ops)``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from functools import reduce
from itertools import product
from math import prod
from operator import or_

from django.db.models import Model, Q, QuerySet

from apps.ground.lookups import among
from apps.query.continuing import continued
from apps.query.fields import MisfitError, SearchField
from apps.query.nodes import And, Kind, Node, Not, Or, Term, terms_of
from apps.query.parser import parse_search

NOTHING = Q(pk__in=())
_NESTED_UNIONS = 2
_MOST_ALTERNATIVES = 8


class QueryValueError(ValueError):
    """A value does not fit the type of its field.

    Attributes:
        field: The field's name as the query writes it.
        message: What the value is not, e.g. "'soon' is not a date".
        position: Where the term starts, as a 0-based offset in characters.
    """

    def __init__(self, field: str, message: str, position: int) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message
        self.position = position


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFields:
    """What a resource's search knows.

    Attributes:
        fields: The fields by the names that queries use.
        bare: Those of them that a bare word searches; one whose type the word does not fit is passed over.
        rows: Gives the searched rows. Needed only where OR or a bare word mixes own columns with those of related rows
            (fields with ``is_related``): the alternatives are then united from one indexed query each, where one OR
            would scan the table.

    A field that is found in another table of one row for each searched row names it (``table(term)``). No index serves
    an OR that reads several tables, so ``alternatives`` parts it by these.
    """

    fields: Mapping[str, SearchField]
    bare: tuple[str, ...] = ()
    rows: Callable[[], QuerySet[Model]] | None = None

    def parse(self, text: str) -> Node:
        """Parse what is searched for; values of texts may go on over the next words (``continuing``).

        Raises:
            QuerySyntaxError: As for ``parse_search``.
        """
        texts = {name for name, field in self.fields.items() if getattr(field, "takes_words", False)}
        return continued(parse_search(text), text, texts)

    def compile(self, node: Node, *, zone: tzinfo) -> Q:
        """Compile a query to a condition for ``QuerySet.filter``.

        Args:
            node: The parsed query.
            zone: Where dates without an offset are meant: the shop's time zone.

        Raises:
            QueryValueError: A value does not fit its field.
        """
        return self._compile(node, zone, negated=False, unions=_NESTED_UNIONS)

    def alternatives(self, node: Node, *, zone: tzinfo) -> list[Q]:
        """Compile a query to conditions of which any must hold; most queries give just one.

        An OR that reads several tables gives a condition for each of them, and for each operand that reads several or
        related rows, multiplied out with what stands beside it, as long as few come of it. A page of their rows is then
        the first of the pages of each (``apps.api.rows.paging.beside_any``), and each of those is read from the index
        that suits it.

        Raises:
            QueryValueError: A value does not fit its field.
        """
        return [self.compile(each, zone=zone) for each in self._disjuncts(node)]

    def _disjuncts(self, node: Node) -> list[Node]:
        node = _pushed_down(node)
        if isinstance(node, Or) and len(parts := self._by_table(node)) > 1:
            found = [each for operand in parts for each in self._disjuncts(operand)]
            return found if len(found) <= _MOST_ALTERNATIVES else [node]
        if isinstance(node, And):
            choices = [self._disjuncts(operand) for operand in node.operands]
            if 1 < prod(map(len, choices)) <= _MOST_ALTERNATIVES:
                return [And(chosen) for chosen in product(*choices)]
        return [node]

    def _by_table(self, node: Or) -> list[Node]:
        """The operands of an OR, together where they read one and the same table, and alone where more or related."""
        together: dict[str, list[Node]] = {}
        alone: list[Node] = []
        for operand in node.operands:
            tables = {self._table(name, term) for term in terms_of(operand) for name in self._names(term)}
            if len(tables) == 1 and not self._reads_related(operand):
                together.setdefault(tables.pop(), []).append(operand)
            else:
                alone.append(operand)
        return [each[0] if len(each) == 1 else Or(tuple(each)) for each in together.values()] + alone

    def _table(self, name: str, term: Term) -> str:
        table: Callable[[Term], str] | None = getattr(self.fields.get(name), "table", None)
        return table(term) if table else ""

    def _names(self, term: Term) -> tuple[str, ...]:
        return (term.field,) if term.field else self.bare

    def unknown(self, node: Node) -> frozenset[str]:
        """Return the fields of a query that match nothing because the resource has none of that name."""
        return frozenset(term.field for term in terms_of(node) if term.field and term.field not in self.fields)

    def _named(self, term: Term, name: str, zone: tzinfo, negated: bool) -> Q:
        if name not in self.fields:
            return NOTHING
        field = self.fields[name]
        if term.kind is Kind.SUFFIX and not getattr(field, "takes_endings", False):
            raise QueryValueError(
                name, f"'*{term.value}' is an ending, by which this field cannot be searched", term.position
            )
        if negated:
            # What only narrows to an index is in the way of the opposite.
            field = getattr(field, "exact", field)
        try:
            return field.condition(term, zone)
        except MisfitError as error:
            raise QueryValueError(name, str(error), term.position) from None

    def _bare(self, term: Term, zone: tzinfo) -> list[Q]:
        if term.kind is Kind.PRESENT:
            return [~NOTHING]
        conditions = []
        for name in self.bare:
            try:
                conditions.append(self.fields[name].condition(term, zone))
            except MisfitError:
                continue
        return conditions or [NOTHING]

    def _compile(self, node: Node, zone: tzinfo, *, negated: bool, unions: int) -> Q:
        """Compile with negations pushed down to the terms and the deepest operand of each group first.

        SQLite's parser holds 100 open symbols: "a OR NOT (b AND NOT (c" opens five a level, "(((c" opens one.
        """
        if isinstance(node, Not):
            return self._compile(node.operand, zone, negated=not negated, unions=unions)
        if isinstance(node, Term):
            branches = self._bare(node, zone) if node.field is None else [self._named(node, node.field, zone, negated)]
            branches = [~branch for branch in branches] if negated else branches
        else:
            operands = sorted(node.operands, key=_depth, reverse=True)
            within = unions - isinstance(node, Or)
            branches = [self._compile(each, zone, negated=negated, unions=within) for each in operands]
        if isinstance(node, And) is not negated:
            return Q(*branches)
        if negated or len(branches) == 1 or unions < 1 or self.rows is None or not self._reads_related(node):
            return reduce(or_, branches)
        first, *others = (self.rows().filter(branch).order_by().values("pk") for branch in branches)
        return among(first.union(*others, all=True))

    def _reads_related(self, node: Node) -> bool:
        names = (name for term in terms_of(node) for name in self._names(term))
        return any(getattr(self.fields.get(name), "is_related", False) for name in names)


def _pushed_down(node: Node) -> Node:
    """The same with a leading NOT pushed down by one group, where there is one."""
    if not isinstance(node, Not) or isinstance(node.operand, Term):
        return node
    if isinstance(node.operand, Not):
        return _pushed_down(node.operand.operand)
    turned = Or if isinstance(node.operand, And) else And
    return turned(tuple(map(Not, node.operand.operands)))


def _depth(node: Node) -> int:
    if isinstance(node, Term):
        return 0
    return 1 + (_depth(node.operand) if isinstance(node, Not) else max(map(_depth, node.operands)))
