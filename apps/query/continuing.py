"""Values of searches that go on over the next words: ``country:United States`` as people and clients write it.

Nobody can tell whether the words behind a term belong to its value or are searched by themselves, so both are looked
for. Quotes, parentheses and ``AND`` say which is meant.
"""

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

from apps.query.nodes import And, Comparator, Kind, Node, Not, Or, Term

MOST_WORDS = 4
_APART = re.compile(r"(?:[\s()]AND|\))\s*\Z")


def continued(node: Node, text: str, fields: Container[str | None]) -> Node:
    """Read each unquoted value as itself and as going on over up to four of the bare words behind it.

    ``field:a b c`` becomes ``(field:a b c) OR (field:"a b" c) OR field:"a b c"``.

    Args:
        node: The tree of a query.
        text: The query, which says where an ``AND`` is written.
        fields: Those whose values can have several words.
    """
    if isinstance(node, Term | Not):
        return node
    if isinstance(node, Or):
        return Or(tuple(continued(operand, text, fields) for operand in node.operands))
    found = list(_operands(node.operands, text, fields))
    return found[0] if len(found) == 1 else And(tuple(found))


def _operands(operands: Sequence[Node], text: str, fields: Container[str | None]) -> Iterator[Node]:
    """The operands of a conjunction, each term and the words behind it as one."""
    at = 0
    while at < len(operands):
        head, at = operands[at], at + 1
        words: list[Term] = []
        last = head.operands[-1] if isinstance(head, Or) else head
        if not isinstance(last, Term) or not _is_plain(last) or last.field not in fields:
            yield continued(head, text, fields)
            continue
        for word in operands[at : at + MOST_WORDS]:
            if not isinstance(word, Term) or word.field is not None or not _is_plain(word):
                break
            if _APART.search(text, 0, word.position):
                break
            words.append(word)
        at += len(words)
        before = head.operands[:-1] if isinstance(head, Or) else ()
        yield Or(tuple(_readings(before, last, words))) if words else head


def _is_plain(term: Term) -> bool:
    return term.kind is Kind.EXACT and term.comparator is Comparator.EQUAL and not term.quoted


def _readings(before: tuple[Node, ...], last: Term, words: Sequence[Term]) -> Iterator[Node]:
    """The value alone with all words beside it, with the first word, with the first two, and so on."""
    for taken in range(len(words) + 1):
        value = " ".join((last.value, *(word.value for word in words[:taken])))
        term = replace(last, value=value)
        head = Or((*before, term)) if before else term
        yield And((head, *words[taken:])) if words[taken:] else head
