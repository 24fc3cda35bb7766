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
from operator import or_
from typing import Any

from django.db.models import Q, QuerySet

from apps.query.fields import MisfitError, Related, SearchField
from apps.query.nodes import And, Kind, Node, Not, Or, Term, terms_of

NOTHING = Q(pk__in=())
_NESTED_UNIONS = 2


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
        rows: Gives the searched rows. Needed only where OR or a bare word mixes own columns with ``Related`` ones:
            the alternatives are then united from one indexed query each, where one OR would scan the table.
    """

    fields: Mapping[str, SearchField]
    bare: tuple[str, ...] = ()
    rows: Callable[[], QuerySet[Any]] | None = None

    def compile(self, node: Node, *, zone: tzinfo) -> Q:
        """Compile a query to a condition for ``QuerySet.filter``.

        Args:
            node: The parsed query.
            zone: Where dates without an offset are meant: the shop's time zone.

        Raises:
            QueryValueError: A value does not fit its field.
        """
        return self._compile(node, zone, negated=False, unions=_NESTED_UNIONS)

    def unknown(self, node: Node) -> frozenset[str]:
        """Return the fields of a query that match nothing because the resource has none of that name."""
        return frozenset(term.field for term in terms_of(node) if term.field and term.field not in self.fields)

    def _named(self, term: Term, name: str, zone: tzinfo) -> Q:
        if name not in self.fields:
            return NOTHING
        try:
            return self.fields[name].condition(term, zone)
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
            conditions = self._bare(node, zone) if node.field is None else [self._named(node, node.field, zone)]
            branches = [~condition for condition in conditions] if negated else conditions
        else:
            operands = sorted(node.operands, key=_depth, reverse=True)
            within = unions - isinstance(node, Or)
            branches = [self._compile(each, zone, negated=negated, unions=within) for each in operands]
        if isinstance(node, And) is not negated:
            return Q(*branches)
        if negated or len(branches) == 1 or unions < 1 or self.rows is None or not self._reads_related(node):
            return reduce(or_, branches)
        first, *others = (self.rows().filter(branch).order_by().values("pk") for branch in branches)
        return Q(pk__in=first.union(*others, all=True))

    def _reads_related(self, node: Node) -> bool:
        names = (name for term in terms_of(node) for name in ((term.field,) if term.field else self.bare))
        return any(isinstance(self.fields.get(name), Related) for name in names)


def _depth(node: Node) -> int:
    if isinstance(node, Term):
        return 0
    return 1 + (_depth(node.operand) if isinstance(node, Not) else max(map(_depth, node.operands)))
