"""Read yes and no in the words of the languages that spreadsheets write."""

import unicodedata
from collections.abc import Mapping

from apps.core.i18n.messages import define_message
from apps.imports_exports.domain.rows import Cells, UnreadableCell

_NOT_A_FLAG = define_message("imports.not_a_flag", "{value} is neither yes nor no. Write true or false")
_MAX_QUOTED = 50


def _fold(word: str) -> str:
    """Return a word without differences of case. An uppercase dotted I has a combining dot in lower case."""
    return unicodedata.normalize("NFC", word.lower().replace("\N{COMBINING DOT ABOVE}", "")).casefold()


# The logical values of spreadsheets in many languages, the words for yes and no, and the usual short forms.
_TRUE_WORDS = """
    true t yes y 1 1.0 on x ✓ ✔ ☑ subscribed published
    wahr ja j vrai oui o verdadero sí si s vero sì verdadeiro sim waar prawda tak sant sann tosi kyllä pravda ano áno
    igaz igen doğru evet adevărat da истина да істина так αληθής αληθησ ναι вярно cert istina resnično tiesa taip
    jā tõene jah benar ya đúng có 真 是 はい 참 예
"""
_FALSE_WORDS = """
    false f no n 0 0.0 off ✗ ✘ ☐ unsubscribed unpublished not_subscribed
    falsch nein faux non falso não nao onwaar nee fałsz nie falskt falsk usann nej nei epätosi ei nepravda ne
    hamis nem yanlış hayır yanliş hayir fals nu ложь нет хибність ні ψευδής ψευδησ όχι οχι невярно не laž neresnično
    aplami nē väär salah tidak sai không 假 否 いいえ 거짓 아니요
"""
_TRUE, _FALSE = (frozenset(map(_fold, words.split())) for words in (_TRUE_WORDS, _FALSE_WORDS))


def find_flag(cell: str) -> bool | None:
    """Return the meaning of a cell, or None if the cell is neither yes nor no."""
    for word in (cell, _fold(cell.strip()).replace(" ", "_")):
        if word in _TRUE:
            return True
        if word in _FALSE:
            return False
    return None


def parse_flag(column: str, cell: str) -> bool:
    """Return the meaning of a cell. Raise ``UnreadableCell`` if the cell is neither yes nor no."""
    flag = find_flag(cell)
    if flag is None:
        raise UnreadableCell(column, _NOT_A_FLAG(value=repr(cell.strip()[:_MAX_QUOTED])))
    return flag


def parse_flags(row: Cells, names: Mapping[str, str]) -> dict[str, bool]:
    """Return the flags of a row, keyed by our field names. ``names`` is keyed by column. Blank cells are omitted."""
    return {name: parse_flag(column, row[column]) for column, name in names.items() if row.get(column, "").strip()}
