import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from django.utils.translation import pgettext

# English and German plural endings. A typed word with one of these endings also matches the word without the ending.
_ENDINGS = frozenset(("s", "es", "e", "n", "en", "er", "nen", "innen"))
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_SHORTEST_STEM, _SHORTEST_PART, _SHORTEST_VERB = 3, 4, 3

# Ranks of matches: 0 exact title or term, 1 title prefix, 2 term prefix, 3 parts of title or terms, 4 section.
_TITLE, _TERM, _SECTION = 1, 2, 4


class PaletteQuery:
    """The text typed into the palette, split into words. ``verbs`` are words such as "create"."""

    def __init__(self, text: str) -> None:
        words = _split_words(text)
        stop_words = _join_phrases(
            pgettext("search", "a, the, my, how, to, do, i, where, is, change, edit, set, open, show, find")
        )
        self.words = tuple(word for word in words if word not in stop_words) or words
        self.text = "".join(self.words)
        verbs = _join_phrases(pgettext("search", "add, new, create, invite, register"))
        self.verbs = frozenset(
            word for word in words if len(word) >= _SHORTEST_VERB and any(verb.startswith(word) for verb in verbs)
        )

    def rank_page(self, title: str, keywords: str, section: str) -> int | None:
        """Return the rank of a page, 0 for the best match, or None. ``keywords`` are separated by commas."""
        phrases = [_split_words(phrase) for phrase in keywords.split(",")]
        texts = ["".join(phrase) for phrase in phrases]
        title_words = _split_words(title)
        joined_title = "".join(title_words)
        fits = (
            any(_equals_word(self.text, text) for text in (joined_title, *texts)),
            joined_title.startswith(self.text) or self._matches_all(title_words),
            any(_matches_prefix(self.text, text) for text in texts),
            (
                len(self.words) > 1
                and self._matches_all([*title_words, *(word for phrase in phrases for word in phrase)])
            )
            or (len(self.text) >= _SHORTEST_PART and self.text in joined_title),
            self._matches_all(_split_words(section)),
        )
        return fits.index(True) if self.text and True in fits else None

    def rank_add_form(self, noun: str, keywords: str) -> int | None:
        """Return the rank of an add form, or None. The query may name the model, a verb such as "create", or both."""
        nouns = [word for word in self.words if word not in self.verbs]
        noun_words = _split_words(noun)
        if _matches_all(nouns, noun_words):
            return _TITLE if self.verbs and nouns else _SECTION
        return _TERM if self.verbs and _matches_all(nouns, [*noun_words, *_join_phrases(keywords)]) else None

    def _matches_all(self, names: Sequence[str]) -> bool:
        return _matches_all(self.words, names)


def _matches_all(words: Iterable[str], names: Sequence[str]) -> bool:
    return all(any(_matches_prefix(word, name) for name in names) for word in words)


@lru_cache(maxsize=4096)
def _split_words(text: str) -> tuple[str, ...]:
    """Return the casefolded words of a string. Umlauts become two letters, and other accents are removed."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFC", text.casefold()).translate(_UMLAUTS))
    return tuple(re.findall(r"\w+(?:\.\w+)*", "".join(mark for mark in plain if not unicodedata.combining(mark))))


def _join_phrases(text: str) -> Iterable[str]:
    return ["".join(_split_words(phrase)) for phrase in text.split(",")]


def _equals_word(typed: str, word: str) -> bool:
    ending = typed.removeprefix(word)
    return typed == word or (len(word) >= _SHORTEST_STEM and typed.startswith(word) and ending in _ENDINGS)


def _matches_prefix(typed: str, word: str) -> bool:
    return word.startswith(typed) or _equals_word(typed, word)
