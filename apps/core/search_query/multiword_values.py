"""Support unquoted multi-word values in searches, such as ``country:United States``.

The words after a value may be part of the value or separate search words, so the query matches both interpretations.
Quotes, parentheses and ``AND`` make a query unambiguous.
"""

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

from apps.core.search_query.nodes import And, Comparator, Kind, Node, Not, Or, Term

MAX_WORDS = 4
_EXPLICIT_AND = re.compile(r"(?:[\s()]AND|\))\s*\Z")


def expand_multiword_values(node: Node, text: str, fields: Container[str | None]) -> Node:
    """Expand each unquoted value of these fields to all interpretations of up to four following bare words.

    ``field:a b c`` becomes ``(field:a b c) OR (field:"a b" c) OR field:"a b c"``. ``text`` is the text of the query, to
    detect explicit ``AND``.
    """
    if isinstance(node, Term | Not):
        return node
    if isinstance(node, Or):
        return Or(tuple(expand_multiword_values(operand, text, fields) for operand in node.operands))
    expanded = list(_operands(node.operands, text, fields))
    return expanded[0] if len(expanded) == 1 else And(tuple(expanded))


def _operands(operands: Sequence[Node], text: str, fields: Container[str | None]) -> Iterator[Node]:
    """Yield the operands of a conjunction. Each term is combined with the words that follow the term."""
    index = 0
    while index < len(operands):
        head, index = operands[index], index + 1
        words: list[Term] = []
        last = head.operands[-1] if isinstance(head, Or) else head
        if not isinstance(last, Term) or not _is_plain(last) or last.field not in fields:
            yield expand_multiword_values(head, text, fields)
            continue
        for word in operands[index : index + MAX_WORDS]:
            if not isinstance(word, Term) or word.field is not None or not _is_plain(word):
                break
            if _EXPLICIT_AND.search(text, 0, word.position):
                break
            words.append(word)
        index += len(words)
        before = head.operands[:-1] if isinstance(head, Or) else ()
        yield Or(tuple(_readings(before, last, words))) if words else head


def _is_plain(term: Term) -> bool:
    return term.kind is Kind.EXACT and term.comparator is Comparator.EQUAL and not term.quoted


def _readings(before: tuple[Node, ...], last: Term, words: Sequence[Term]) -> Iterator[Node]:
    """Yield the interpretations: the value without following words, with the first word, with two words, and so on."""
    for count in range(len(words) + 1):
        value = " ".join((last.value, *(word.value for word in words[:count])))
        term = replace(last, value=value)
        head = Or((*before, term)) if before else term
        yield And((head, *words[count:])) if words[count:] else head
