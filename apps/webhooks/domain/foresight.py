"""What can be foreseen of a filter and a choice of fields when they are saved: names and values that never match.

The payload's shape is that of the topic in the subscription's API version. Where it leaves open what stands at a path,
nothing is said. These are warnings: the subscription is made all the same, as clients expect.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC
from typing import NamedTuple

from django.utils.translation import gettext_noop

from apps.ground.retelling import tells
from apps.query import And, Comparator, Kind, Node, Not, Or, Term, terms_of
from apps.query.values import interval, number

Shape = Mapping[str, object]
NEVER_MATCHES = gettext_noop("This filter never matches.")
_MISSING = tells(gettext_noop("{path} is not in the payload."))
_NULL = tells(gettext_noop("{path} is always null."))
_OBJECT = tells(gettext_noop("{path} is an object: name one of its fields."))
_BOOLEAN = tells(gettext_noop("{path} is true or false."))
_NO_NUMBER = tells(gettext_noop("{path} is a number, and {value} is none."))
_NO_DATE = tells(gettext_noop("{path} is a date, and {value} is none."))
_NO_ORDER = tells(gettext_noop("{path} has no order."))
_NEVER = tells(gettext_noop("{path} is never {value}."))


class Foreseen(NamedTuple):
    """Something that is allowed and probably not meant."""

    field: str
    message: str


def warnings_of(shape: Shape | None, tree: Node | None, include_fields: Iterable[str]) -> list[Foreseen]:
    """What is foreseen of a filter and of a choice of fields; nothing where the payload's shape is not known."""
    if shape is None:
        return []
    found = [
        Foreseen("include_fields", _MISSING.format(path=path)) for path in include_fields if not places(shape, path)
    ]
    if tree is None:
        return found
    judged = {term: _judge(shape, term) for term in terms_of(tree)}
    found += [Foreseen("filter", reason) for reason in dict.fromkeys(judged.values()) if reason]
    if _value(tree, lambda term: False if judged[term] else None) is False:
        found.append(Foreseen("filter", NEVER_MATCHES))
    return found


def places(shape: Shape, path: str) -> list[Shape]:
    """The schemas of what may stand at a dotted path, through arrays; none where nothing can."""
    level = [shape]
    for name in path.split("."):
        level = [inner for outer in level for inner in _members(outer, name)]
    return level


def _members(shape: Shape, name: str) -> Iterable[Shape]:
    """The schemas of a member, of an object or of each element of an array."""
    found: list[Shape] = []
    for leaf in _leaves([shape]):
        kinds, properties = _kinds(leaf), leaf.get("properties")
        if not kinds or (kinds & {"object"} and not isinstance(properties, Mapping)):
            found.append({})
        elif isinstance(properties, Mapping) and name in properties:
            found.append(properties[name])
        elif leaf.get("additionalProperties"):
            found.append({})
    return found


def _kinds(shape: Shape) -> set[str]:
    kinds = shape.get("type")
    return set(kinds if isinstance(kinds, list) else [kinds] if isinstance(kinds, str) else ())


def _judge(shape: Shape, term: Term) -> str:
    """Why a condition never holds; blank where it may."""
    path = term.field or ""
    found = list(_leaves(places(shape, path)))
    if not found:
        return _MISSING.format(path=path)
    if term.kind is Kind.PRESENT:
        return ""
    reasons = [_mismatch(leaf, term) for leaf in found]
    return reasons[0].format(path=path, value=_quoted(term)) if all(reasons) else ""


def _leaves(shapes: Iterable[Shape]) -> Iterable[Shape]:
    """The schemas of single values: those of elements in place of arrays."""
    for shape in shapes:
        either = shape.get("oneOf") or shape.get("anyOf")
        if isinstance(either, list):
            yield from _leaves(either)
        elif "array" in _kinds(shape):
            items = shape.get("items")
            yield from _leaves([items] if isinstance(items, Mapping) else [{}])
        else:
            yield shape


def _mismatch(shape: Shape, term: Term) -> str:
    """Why no value of a kind can meet a condition, with ``{path}`` and ``{value}``; blank where one can."""
    kinds = _kinds(shape) - {"null"}
    choices = shape.get("enum")
    ordered = term.comparator is not Comparator.EQUAL
    is_moment = shape.get("format") in {"date-time", "date"}
    is_amount = bool(kinds & {"integer", "number"}) or shape.get("format") == "decimal"
    reason = ""
    if not kinds:
        reason = _NULL if "type" in shape else ""
    elif kinds == {"object"}:
        reason = _OBJECT
    elif "boolean" in kinds:
        reason = "" if not ordered and term.value in {"true", "false"} else _BOOLEAN
    elif is_amount and term.kind is Kind.EXACT and number(term.value) is None:
        reason = _NO_NUMBER
    elif is_moment and ordered and not _is_moment(term.value):
        reason = _NO_DATE
    elif isinstance(choices, list) and (ordered or not any(_fits(choice, term) for choice in choices)):
        reason = _NO_ORDER if ordered else _NEVER
    return reason


def _fits(choice: object, term: Term) -> bool:
    text = str(choice)
    return text.startswith(term.value) if term.kind is Kind.PREFIX else text == term.value


def _is_moment(text: str) -> bool:
    try:
        interval(text, UTC)
    except ValueError:
        return False
    return True


def _quoted(term: Term) -> str:
    text = term.value if len(term.value) <= 50 else f"{term.value[:49]}…"
    return f'"{text}{"*" if term.kind is Kind.PREFIX else ""}"'


def _value(node: Node, known: Callable[[Term], bool | None]) -> bool | None:
    """What a tree comes to where some terms are known; None where that depends on the others."""
    if isinstance(node, Term):
        return known(node)
    if isinstance(node, Not):
        inner = _value(node.operand, known)
        return None if inner is None else not inner
    assert isinstance(node, And | Or)
    values = [_value(each, known) for each in node.operands]
    decides = isinstance(node, Or)
    if decides in values:
        return decides
    return None if None in values else not decides
