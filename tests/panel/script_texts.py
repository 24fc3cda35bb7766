"""The texts of scripts: which strings of a file of JavaScript are words for people, and do not go through translate."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_SKIPPED = re.compile(r"\s+|//[^\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'')
_REGEX = re.compile(r"/(?![*/])(?:\[(?:[^\]\\\n]|\\.)*\]|[^/\\\n\[]|\\.)+/[a-z]*")
_WORD = re.compile(r"[\w$]+")
# After these a slash begins an expression, not a division.
_BEFORE_REGEX = frozenset("(,=:[!&|?{};+-*%<>~^\n") | {"return", "typeof", "case", "of", "in", ""}
_TRANSLATES = ("translate", "(")


class Literal(NamedTuple):
    """A string: its text, ``␣`` for each value within it, and the two tokens before it."""

    text: str
    before: tuple[str, str]


def literals(source: str) -> Iterator[Literal]:
    """Every string of a script, those within the values of others too."""
    at, before = 0, ("", "")
    while at < len(source):
        if skipped := _SKIPPED.match(source, at):
            at = skipped.end()
            continue
        found: re.Match[str] | None
        if found := _STRING.match(source, at):
            yield Literal(found[0][1:-1], before)
            token, at = '"', found.end()
        elif source[at] == "`":
            text, inner, at_end = _template(source, at + 1)
            yield Literal(text, before)
            for part in inner:
                yield from literals(part)
            token, at = '"', at_end
        elif source[at] == "/" and before[1] in _BEFORE_REGEX and (found := _REGEX.match(source, at)):
            token, at = '"', found.end()
        elif found := _WORD.match(source, at):
            token, at = found[0], found.end()
        else:
            token, at = source[at], at + 1
        before = (before[1], token)


def _template(source: str, at: int) -> tuple[str, list[str], int]:
    """The text of a template from behind its first quote, the expressions in it, and where it ends."""
    text, inner = "", []
    while source[at] != "`":
        if source[at] == "\\":
            text, at = text + source[at : at + 2], at + 2
        elif source.startswith("${", at):
            begun = at = at + 2
            depth = 1
            while depth:
                if source[at] == "`":
                    *_, at = _template(source, at + 1)
                    continue
                if found := _STRING.match(source, at):
                    at = found.end()
                    continue
                depth += {"{": 1, "}": -1}.get(source[at], 0)
                at += 1
            inner.append(source[begun : at - 1])
            text += "␣"
        else:
            text, at = text + source[at], at + 1
    return text, inner, at + 1


# Words that stand apart, or one that begins with a capital letter or ends a sentence.
_SPOKEN = re.compile(
    r"(?<![\w.#\[$-])[A-Za-z][a-z]+(?:['’][a-z]+)?[,;:]? (?:[a-z]+\b|␣)"
    r"|␣[;,]? [a-z]+\b|\A[A-Z][a-z]+[.:…]?\Z|[a-z][.…]\Z"
)
# What a library says, by which its translation is looked up.
_NAMED = re.compile(r'"[^"\n]*": translate\(')
_TAG = re.compile(r"</?[a-z][^<>]*>")
_CODE = re.compile(r"[\[\]{}<>=#$\\^]|\w\.\w|--|(?<!\w)\.\w|\bvar\(|^\W*use strict")


def unmarked(source: str, alike: frozenset[str] = frozenset()) -> list[str]:
    """The strings that people would read, and that no translation is asked for."""
    return [
        each.text
        for each in literals(_NAMED.sub("translate(", source))
        if each.before != _TRANSLATES
        and each.text not in alike
        and _SPOKEN.search(each.text)
        and not _CODE.search(_TAG.sub("", each.text))
    ]
