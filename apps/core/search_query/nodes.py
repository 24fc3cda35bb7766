"""The syntax tree of a query, with frozen, hashable nodes that can be rendered as canonical text."""

import dataclasses
import re
from collections.abc import Iterator
from enum import StrEnum

# The characters that a backslash can escape, for a regex character class. Before others, a backslash is literal.
ESCAPABLE = r"\s:\\()\"'*<>=-"
_TO_ESCAPE = re.compile(rf"[\s:\\()*]|^[{ESCAPABLE}]")


class Comparator(StrEnum):
    EQUAL = ":"
    LESS = ":<"
    LESS_OR_EQUAL = ":<="
    GREATER = ":>"
    GREATER_OR_EQUAL = ":>="


class Kind(StrEnum):
    """The way in which a term's value is matched."""

    EXACT = "exact"
    PREFIX = "prefix"
    SUFFIX = "suffix"
    PRESENT = "present"


@dataclasses.dataclass(frozen=True, slots=True)
class Term:
    """A single condition.

    Attributes:
        field: The dotted path before the comparator, or None for a bare word.
        comparator: ``Comparator.EQUAL`` for bare words, prefixes and presence.
        value: The text without quotes, escapes and the asterisk, or an empty string for presence.
        kind: Exact, a prefix (``Album*``), a suffix (``*@example.com``, only in searches), or presence (``*``).
        position: The start of the term in the text. Comparisons of terms ignore the position.
    """

    field: str | None
    comparator: Comparator
    value: str
    kind: Kind = Kind.EXACT
    quoted: bool = False
    position: int = dataclasses.field(default=0, compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Not:
    operand: "Node"


@dataclasses.dataclass(frozen=True, slots=True)
class And:
    """A conjunction of two or more nodes."""

    operands: tuple["Node", ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Or:
    """A disjunction of two or more nodes."""

    operands: tuple["Node", ...]


Node = Term | Not | And | Or


def iterate_terms(node: Node) -> Iterator[Term]:
    """Yield the terms of a tree in the order of the query text."""
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, Term):
            yield current
        elif isinstance(current, Not):
            pending.append(current.operand)
        else:
            pending.extend(reversed(current.operands))


def render_query(node: Node) -> str:
    """Render a tree as text that parses to an equal tree."""
    if isinstance(node, Term):
        return _render_term(node)
    if isinstance(node, Not):
        operand = render_query(node.operand)
        return f"-{operand}" if isinstance(node.operand, Term) else f"-({operand})"
    connective = " AND " if isinstance(node, And) else " OR "
    bare = (Term, Not, Or) if isinstance(node, And) else (Term, Not)
    return connective.join(
        render_query(operand) if isinstance(operand, bare) else f"({render_query(operand)})"
        for operand in node.operands
    )


def _render_term(term: Term) -> str:
    subject = "" if term.field is None else f"{term.field}{term.comparator}"
    if term.kind is Kind.PRESENT:
        return f"{subject}*"
    if term.quoted or not term.value or (term.field is None and term.value in {"AND", "OR", "NOT"}):
        value = term.value.replace("\\", "\\\\").replace('"', '\\"')
        return f'{subject}"{value}"'
    value = _TO_ESCAPE.sub(r"\\\g<0>", term.value)
    if term.kind is Kind.SUFFIX:
        return f"{subject}*{value}"
    return f"{subject}{value}*" if term.kind is Kind.PREFIX else f"{subject}{value}"
