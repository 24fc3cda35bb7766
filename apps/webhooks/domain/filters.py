"""Select the fields of payloads, and warn of filters that can never match.

``include_fields`` contains dotted paths, which also apply to the elements of arrays. Fields that a payload lacks are
skipped. Without a selection, the subscription receives the whole payload.

Filters are checked when the subscription is saved, with the topic's schema in the subscription's API version. Paths
that the schema does not restrict are skipped. Warnings do not prevent saving, because clients expect the subscription
to be saved.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC
from functools import lru_cache
from typing import Any, NamedTuple

from apps.core.i18n.messages import Message, MessageTemplate, define_message, define_text
from apps.core.search_query import And, Comparator, Kind, Node, Not, Or, Term, iterate_terms
from apps.core.search_query.values import parse_interval, parse_number

# Maps each selected member to the selection inside that member. None selects the whole member.
FieldTree = dict[str, "FieldTree | None"]


@lru_cache(maxsize=4096)
def _build_tree(paths: tuple[str, ...]) -> FieldTree:
    """Build a tree of the paths. A path that selects an object overrides paths to members of that object."""
    tree: FieldTree = {}
    for path in paths:
        *outer_names, last_name = path.split(".")
        level: FieldTree | None = tree
        for name in outer_names:
            level = level.setdefault(name, {}) if level is not None else None
        if level is not None:
            level[last_name] = None
    return tree


def select_fields(payload: Mapping[str, Any], include_fields: Collection[str]) -> Mapping[str, Any]:
    return _select_members(payload, _build_tree(tuple(include_fields))) if include_fields else payload


def _select_members(value: Mapping[str, Any], tree: FieldTree) -> dict[str, Any]:
    return {name: _select(value[name], below) for name, below in tree.items() if name in value}


def _select(value: Any, tree: FieldTree | None) -> Any:
    if tree is None or value is None:
        return value
    if isinstance(value, list):
        return [_select(element, tree) for element in value]
    return _select_members(value, tree) if isinstance(value, Mapping) else value


def add_metafields(
    payload: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    namespaces: Iterable[str],
    identifiers: Iterable[Mapping[str, str]],
) -> Mapping[str, Any]:
    requested_namespaces = set(namespaces)
    requested_keys = {(identifier["namespace"], identifier["key"]) for identifier in identifiers}
    if not (requested_namespaces or requested_keys):
        return payload
    picked = [
        row
        for row in rows
        if row["namespace"] in requested_namespaces or (row["namespace"], row["key"]) in requested_keys
    ]
    return {**payload, "metafields": picked}


JsonSchema = Mapping[str, object]
NEVER_MATCHES = define_text("filter_warnings.never_matches", "This filter never matches.")
_MISSING = define_message("filter_warnings.missing", "{path} is not in the payload.")
_NULL = define_message("filter_warnings.null", "{path} is always null.")
_OBJECT = define_message("filter_warnings.object", "{path} is an object. Use one of its fields.")
_BOOLEAN = define_message("filter_warnings.boolean", "{path} can only be true or false.")
_NO_NUMBER = define_message("filter_warnings.no_number", "{path} is a number, but {value} is not.")
_NO_DATE = define_message("filter_warnings.no_date", "{path} is a date, but {value} is not.")
_NO_ORDER = define_message("filter_warnings.no_order", "{path} can't be used with “less than” or “greater than”.")
_NEVER = define_message("filter_warnings.never", "{path} is never {value}.")
_WITH_VALUE = (_NO_NUMBER, _NO_DATE, _NEVER)


class FieldWarning(NamedTuple):
    """A warning about a value that is allowed but probably a mistake."""

    field: str
    message: Message


def find_warnings(shape: JsonSchema | None, tree: Node | None, include_fields: Iterable[str]) -> list[FieldWarning]:
    """Check a filter and a field selection against a payload schema. Without a schema there are no warnings."""
    if shape is None:
        return []
    missing = (path for path in include_fields if not get_schemas_at(shape, path))
    warnings = [FieldWarning("include_fields", _MISSING(path=path)) for path in missing]
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


def _explain_mismatch(shape: JsonSchema, term: Term) -> Message | None:
    """Return the reason that a condition can never be true, or None if it can be true."""
    path = term.field or ""
    leaves = list(_leaves(get_schemas_at(shape, path)))
    if not leaves:
        return _MISSING(path=path)
    if term.kind is Kind.PRESENT:
        return None
    reasons = [_mismatch(leaf, term) for leaf in leaves]
    if (reason := reasons[0]) is None or None in reasons:
        return None
    return reason(path=path, value=_quoted(term)) if reason in _WITH_VALUE else reason(path=path)


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


def _mismatch(shape: JsonSchema, term: Term) -> MessageTemplate | None:
    """Return the reason that no value allowed by the schema can meet a condition, or None if one can."""
    kinds = _kinds(shape) - {"null"}
    choices = shape.get("enum")
    is_comparison = term.comparator is not Comparator.EQUAL
    is_moment = shape.get("format") in {"date-time", "date"}
    is_amount = bool(kinds & {"integer", "number"}) or shape.get("format") == "decimal"
    reason = None
    if not kinds:
        reason = _NULL if "type" in shape else None
    elif kinds == {"object"}:
        reason = _OBJECT
    elif "boolean" in kinds:
        reason = None if not is_comparison and term.value in {"true", "false"} else _BOOLEAN
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
