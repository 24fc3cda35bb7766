"""Warn if a subscription's filter or field selection contains names or values that can never match.

The checks run when the subscription is saved. They use the topic's schema in the subscription's API version and skip
paths that the schema does not restrict. Warnings do not prevent saving, because clients expect the subscription to be
saved.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC
from typing import NamedTuple

from django.utils.translation import gettext_noop

from apps.ground.stored_messages import register_message
from apps.query import And, Comparator, Kind, Node, Not, Or, Term, iterate_terms
from apps.query.values import parse_interval, parse_number

JsonSchema = Mapping[str, object]
NEVER_MATCHES = gettext_noop("This filter never matches.")
_MISSING = register_message(gettext_noop("{path} is not in the payload."))
_NULL = register_message(gettext_noop("{path} is always null."))
_OBJECT = register_message(gettext_noop("{path} is an object. Use one of its fields."))
_BOOLEAN = register_message(gettext_noop("{path} can only be true or false."))
_NO_NUMBER = register_message(gettext_noop("{path} is a number, but {value} is not."))
_NO_DATE = register_message(gettext_noop("{path} is a date, but {value} is not."))
_NO_ORDER = register_message(gettext_noop("{path} can't be used with “less than” or “greater than”."))
_NEVER = register_message(gettext_noop("{path} is never {value}."))


class FieldWarning(NamedTuple):
    """A warning about a value that is allowed but probably a mistake."""

    field: str
    message: str


def find_warnings(shape: JsonSchema | None, tree: Node | None, include_fields: Iterable[str]) -> list[FieldWarning]:
    """Check a filter and a field selection against a payload schema. Without a schema there are no warnings."""
    if shape is None:
        return []
    warnings = [
        FieldWarning("include_fields", _MISSING.format(path=path))
        for path in include_fields
        if not get_schemas_at(shape, path)
    ]
    if tree is None:
        return warnings
    reasons = {term: _explain_mismatch(shape, term) for term in iterate_terms(tree)}
    warnings += [FieldWarning("filter", reason) for reason in dict.fromkeys(reasons.values()) if reason]
    if _evaluate(tree, lambda term: False if reasons[term] else None) is False:
        warnings.append(FieldWarning("filter", NEVER_MATCHES))
    return warnings


def get_schemas_at(shape: JsonSchema, path: str) -> list[JsonSchema]:
    """Return the schemas at a dotted path, which may include arrays, or an empty list if the path cannot exist."""
    level = [shape]
    for name in path.split("."):
        level = [inner for outer in level for inner in _members(outer, name)]
    return level


def _members(shape: JsonSchema, name: str) -> Iterable[JsonSchema]:
    """Return the possible schemas of a member. For an array, look up the member in the schema of the elements."""
    schemas: list[JsonSchema] = []
    for leaf in _leaves([shape]):
        kinds, properties = _kinds(leaf), leaf.get("properties")
        if not kinds or (kinds & {"object"} and not isinstance(properties, Mapping)):
            schemas.append({})
        elif isinstance(properties, Mapping) and name in properties:
            schemas.append(properties[name])
        elif leaf.get("additionalProperties"):
            schemas.append({})
    return schemas


def _kinds(shape: JsonSchema) -> set[str]:
    kinds = shape.get("type")
    return set(kinds if isinstance(kinds, list) else [kinds] if isinstance(kinds, str) else ())


def _explain_mismatch(shape: JsonSchema, term: Term) -> str:
    """Return the reason that a condition can never be true, or "" if it can be true."""
    path = term.field or ""
    leaves = list(_leaves(get_schemas_at(shape, path)))
    if not leaves:
        return _MISSING.format(path=path)
    if term.kind is Kind.PRESENT:
        return ""
    reasons = [_mismatch(leaf, term) for leaf in leaves]
    return reasons[0].format(path=path, value=_quoted(term)) if all(reasons) else ""


def _leaves(shapes: Iterable[JsonSchema]) -> Iterable[JsonSchema]:
    """Yield the alternatives of each schema. Array schemas are replaced by the schema of the elements."""
    for shape in shapes:
        either = shape.get("oneOf") or shape.get("anyOf")
        if isinstance(either, list):
            yield from _leaves(either)
        elif "array" in _kinds(shape):
            items = shape.get("items")
            yield from _leaves([items] if isinstance(items, Mapping) else [{}])
        else:
            yield shape


def _mismatch(shape: JsonSchema, term: Term) -> str:
    """Return the reason that no value allowed by the schema can meet a condition, or "" if one can.

    The reason contains the placeholders ``{path}`` and ``{value}``.
    """
    kinds = _kinds(shape) - {"null"}
    choices = shape.get("enum")
    is_comparison = term.comparator is not Comparator.EQUAL
    is_moment = shape.get("format") in {"date-time", "date"}
    is_amount = bool(kinds & {"integer", "number"}) or shape.get("format") == "decimal"
    reason = ""
    if not kinds:
        reason = _NULL if "type" in shape else ""
    elif kinds == {"object"}:
        reason = _OBJECT
    elif "boolean" in kinds:
        reason = "" if not is_comparison and term.value in {"true", "false"} else _BOOLEAN
    elif is_amount and term.kind is Kind.EXACT and parse_number(term.value) is None:
        reason = _NO_NUMBER
    elif is_moment and is_comparison and not _is_moment(term.value):
        reason = _NO_DATE
    elif isinstance(choices, list) and (is_comparison or not any(_fits(choice, term) for choice in choices)):
        reason = _NO_ORDER if is_comparison else _NEVER
    return reason


def _fits(choice: object, term: Term) -> bool:
    text = str(choice)
    return text.startswith(term.value) if term.kind is Kind.PREFIX else text == term.value


def _is_moment(text: str) -> bool:
    try:
        parse_interval(text, UTC)
    except ValueError:
        return False
    return True


def _quoted(term: Term) -> str:
    text = term.value if len(term.value) <= 50 else f"{term.value[:49]}…"
    return f'"{text}{"*" if term.kind is Kind.PREFIX else ""}"'


def _evaluate(node: Node, get_known: Callable[[Term], bool | None]) -> bool | None:
    """Evaluate a filter with unknown conditions; return None if the result depends on an unknown condition."""
    if isinstance(node, Term):
        return get_known(node)
    if isinstance(node, Not):
        inner = _evaluate(node.operand, get_known)
        return None if inner is None else not inner
    assert isinstance(node, And | Or)
    values = [_evaluate(operand, get_known) for operand in node.operands]
    absorbing = isinstance(node, Or)
    if absorbing in values:
        return absorbing
    return None if None in values else not absorbing
