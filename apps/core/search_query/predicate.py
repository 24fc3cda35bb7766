"""Compile queries to functions that check JSON payloads, for the filters of webhook subscriptions.

Equality is exact and case-sensitive. A trailing ``*`` matches a prefix. If a path contains arrays, a condition matches
if any element matches, and different conditions may match different elements. Null, empty strings and empty
collections count as missing. Predicates never raise exceptions: values that cannot be compared do not match.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache

from apps.core.i18n.messages import define_text
from apps.core.search_query.nodes import And, Comparator, Kind, Node, Not, Term, iterate_terms
from apps.core.search_query.parser import QuerySyntaxError, parse_query
from apps.core.search_query.values import parse_interval, parse_number

Predicate = Callable[[Mapping[str, object]], bool]
_Test = Callable[[object], bool]

MISSING_FIELD = define_text(
    "query.missing_field",
    "The specified filter is invalid, please ensure you specify the field(s) you wish to filter on.",
)

_OFFSET = re.compile(r"(?:Z|[+-]\d\d:?\d\d)\Z", re.ASCII)

_ORDERINGS: dict[Comparator, Callable[[Decimal, Decimal], bool]] = {
    Comparator.LESS: Decimal.__lt__,
    Comparator.LESS_OR_EQUAL: Decimal.__le__,
    Comparator.GREATER: Decimal.__gt__,
    Comparator.GREATER_OR_EQUAL: Decimal.__ge__,
}


@lru_cache(maxsize=1024)
def compile_filter(text: str) -> Predicate:
    """Parse and compile a filter. Each term must have a field. Results are cached per query string."""
    return compile_predicate(parse_query(text))


def get_field_paths(node: Node) -> frozenset[str]:
    """Return the dotted paths that a query reads."""
    return frozenset(term.field for term in iterate_terms(node) if term.field is not None)


def compile_predicate(node: Node) -> Predicate:
    """Compile a query to a function that returns True for matching payloads. Each term must have a field."""
    if isinstance(node, Term):
        return _compile_term(node)
    if isinstance(node, Not):
        negated = compile_predicate(node.operand)
        return lambda payload: not negated(payload)
    parts = tuple(compile_predicate(operand) for operand in node.operands)
    if isinstance(node, And):
        return lambda payload: all(part(payload) for part in parts)
    return lambda payload: any(part(payload) for part in parts)


def _compile_term(term: Term) -> Predicate:
    if term.field is None:
        raise QuerySyntaxError(MISSING_FIELD, term.position)
    path = tuple(term.field.split("."))
    test = _build_keyword_test(term) if path[-1] == "tags" else _build_test(term)
    if len(path) == 1:
        key = path[0]

        def matches_at_root(payload: Mapping[str, object]) -> bool:
            value = payload.get(key)
            return any(map(test, _iterate_elements(value))) if isinstance(value, list) else test(value)

        return matches_at_root
    return lambda payload: any(map(test, _iterate_values(payload, path)))


def _iterate_values(payload: Mapping[str, object], path: tuple[str, ...]) -> Iterator[object]:
    """Yield the values at the end of a path, including elements of nested arrays."""
    level = [payload.get(path[0])]
    for key in path[1:]:
        level = [value[key] for value in _iterate_elements(level) if isinstance(value, dict) and key in value]
    return _iterate_elements(level)


def _iterate_elements(values: list[object]) -> Iterator[object]:
    """Yield the elements of an array and of nested arrays, without recursion, because payloads can be deeply nested."""
    pending = [iter(values)]
    while pending:
        for value in pending[-1]:
            if isinstance(value, list):
                pending.append(iter(value))
                break
            yield value
        else:
            pending.pop()


def _build_test(term: Term) -> _Test:
    if term.kind is Kind.PRESENT:
        return _is_present
    if term.comparator is not Comparator.EQUAL:
        return _build_ordering_test(term)
    expected = term.value
    if term.kind is Kind.PREFIX:
        return lambda value: (text := _to_text(value)) is not None and text.startswith(expected)
    amount = parse_number(expected)

    def equals(value: object) -> bool:
        if isinstance(value, str):
            return value == expected
        if isinstance(value, bool):
            return expected == ("true" if value else "false")
        return amount is not None and _to_number(value) == amount

    return equals


def _build_keyword_test(term: Term) -> _Test:
    """Build a test that compares each tag of a comma-separated string, and compares other values as a whole."""
    test = _build_test(term)

    def matches(value: object) -> bool:
        if isinstance(value, str):
            return any(test(tag) for part in value.split(",") if (tag := part.strip()))
        return test(value)

    return matches


def _build_ordering_test(term: Term) -> _Test:
    compare = _ORDERINGS[term.comparator]
    amount = parse_number(term.value)
    if amount is not None:
        return lambda value: (other := _to_number(value)) is not None and compare(other, amount)
    try:
        start, end = parse_interval(term.value, UTC)
    except ValueError:
        return lambda _: False
    # A time without an offset is in the payload's time zone, which is the shop's time zone.
    local = not (_OFFSET.search(term.value) or term.value.endswith(("UTC", "GMT")))
    later = term.comparator in {Comparator.GREATER, Comparator.GREATER_OR_EQUAL}
    edge = end if term.comparator in {Comparator.GREATER, Comparator.LESS_OR_EQUAL} else start

    def matches(value: object) -> bool:
        moment = _to_datetime(value)
        if moment is None:
            return False
        return ((moment.replace(tzinfo=UTC) if local else moment) >= edge) is later

    return matches


def _is_present(value: object) -> bool:
    return value is not None and value not in ("", {})


def _to_text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    number_value = _to_number(value)
    return None if number_value is None else str(number_value)


def _to_number(value: object) -> Decimal | None:
    """Convert a JSON number or a numeric string to an exact decimal. Return None for other values."""
    if isinstance(value, str):
        return parse_number(value)
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, float):
        return Decimal(repr(value)) if math.isfinite(value) else None
    return value if isinstance(value, Decimal) and value.is_finite() else None


def _to_datetime(value: object) -> datetime | None:
    if not isinstance(value, str) or len(value) > 35:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
