"""Find JavaScript strings that users can read but that are not passed to translate()."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_SKIPPED = re.compile(r"\s+|//[^\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'')
_REGEX = re.compile(r"/(?![*/])(?:\[(?:[^\]\\\n]|\\.)*\]|[^/\\\n\[]|\\.)+/[a-z]*")
_WORD = re.compile(r"[\w$]+")
# After these tokens a slash begins a regular expression, not a division.
_BEFORE_REGEX = frozenset("(,=:[!&|?{};+-*%<>~^\n") | {"return", "typeof", "case", "of", "in", ""}
_TRANSLATES = ("translate", "(")


class StringLiteral(NamedTuple):
    """A string literal with the two preceding tokens. The text has ``␣`` for each interpolated value."""

    text: str
    before: tuple[str, str]


def find_literals(source: str) -> Iterator[StringLiteral]:
    at, before = 0, ("", "")
    while at < len(source):
        if skipped := _SKIPPED.match(source, at):
            at = skipped.end()
            continue
        match: re.Match[str] | None
        if match := _STRING.match(source, at):
            yield StringLiteral(match[0][1:-1], before)
            token, at = '"', match.end()
        elif source[at] == "`":
            text, inner, at_end = _template(source, at + 1)
            yield StringLiteral(text, before)
            for part in inner:
                yield from find_literals(part)
            token, at = '"', at_end
        elif source[at] == "/" and before[1] in _BEFORE_REGEX and (match := _REGEX.match(source, at)):
            token, at = '"', match.end()
        elif match := _WORD.match(source, at):
            token, at = match[0], match.end()
        else:
            token, at = source[at], at + 1
        before = (before[1], token)


def _template(source: str, at: int) -> tuple[str, list[str], int]:
    """Return the text, the interpolated expressions and the end position of a template literal."""
    text, inner = "", []
    while source[at] != "`":
        if source[at] == "\\":
            text, at = text + source[at : at + 2], at + 2
        elif source.startswith("${", at):
            started_at = at = at + 2
            depth = 1
            while depth:
                if source[at] == "`":
                    *_, at = _template(source, at + 1)
                    continue
                if match := _STRING.match(source, at):
                    at = match.end()
                    continue
                depth += {"{": 1, "}": -1}.get(source[at], 0)
                at += 1
            inner.append(source[started_at : at - 1])
            text += "␣"
        else:
            text, at = text + source[at], at + 1
    return text, inner, at + 1


# Several words, a single capitalized word, or a word with a final period or ellipsis.
_SPOKEN = re.compile(
    r"(?<![\w.#\[$-])[A-Za-z][a-z]+(?:['’][a-z]+)?[,;:]? (?:[a-z]+\b|␣)"
    r"|␣[;,]? [a-z]+\b|\A[A-Z][a-z]+[.:…]?\Z|[a-z][.…]\Z"
)
# English texts of a library as the keys of a translation table.
_NAMED = re.compile(r'"[^"\n]*": translate\(')
_TAG = re.compile(r"</?[a-z][^<>]*>")
_CODE = re.compile(r"[\[\]{}<>=#$\\^]|\w\.\w|--|(?<!\w)\.\w|\bvar\(|^\W*use strict")


def find_unmarked(source: str, alike: frozenset[str] = frozenset()) -> list[str]:
    return [
        item.text
        for item in find_literals(_NAMED.sub("translate(", source))
        if item.before != _TRANSLATES
        and item.text not in alike
        and _SPOKEN.search(item.text)
        and not _CODE.search(_TAG.sub("", item.text))
    ]
