"""What somebody types into the search from anywhere, and how near a page comes to it."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from django.utils.translation import pgettext

# A word of several is the same word, too: employees, taxes, Sprachen, Bilder.
_ENDINGS = frozenset(("s", "es", "e", "n", "en", "er", "nen", "innen"))
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_SHORTEST_STEM, _SHORTEST_PART, _SHORTEST_VERB = 3, 4, 3

# How near a page is: called so, its title begins so, a further word of it does, parts of them do, its section does.
_TITLE, _SECTION = 1, 4


class Wish:
    """A text that was typed, in the language that is spoken."""

    def __init__(self, text: str) -> None:
        words = _words(text)
        idle = _said(pgettext("search", "a, the, my, how, to, do, i, where, is, change, edit, set, open, show, find"))
        self.words = tuple(word for word in words if word not in idle) or words
        self.text = "".join(self.words)
        verbs = _said(pgettext("search", "add, new, create, invite, register"))
        self.verbs = frozenset(
            word for word in words if len(word) >= _SHORTEST_VERB and any(verb.startswith(word) for verb in verbs)
        )

    def nearness(self, title: str, said: str, section: str) -> int | None:
        """How near a page is, 0 the nearest; ``None`` where it is not meant.

        Args:
            title: What it is called.
            said: Further words by which people look for it, between commas.
            section: Where it stands.
        """
        phrases = [_words(phrase) for phrase in said.split(",")]
        texts = ["".join(phrase) for phrase in phrases]
        named = _words(title)
        whole = "".join(named)
        fits = (
            any(_is(self.text, text) for text in (whole, *texts)),
            whole.startswith(self.text) or self._is_in(named),
            any(_begins(self.text, text) for text in texts),
            (len(self.words) > 1 and self._is_in([*named, *(word for phrase in phrases for word in phrase)]))
            or (len(self.text) >= _SHORTEST_PART and self.text in whole),
            self._is_in(_words(section)),
        )
        return fits.index(True) if self.text and True in fits else None

    def addition(self, noun: str, said: str) -> int | None:
        """How near the form is that adds such a row: where the row is named, or where something is to be made."""
        others = [word for word in self.words if word not in self.verbs]
        names = (*_words(noun), *(_said(said) if self.verbs else ()))
        if not all(any(_begins(word, name) for name in names) for word in others):
            return None
        return _TITLE if self.verbs and others else _SECTION

    def _is_in(self, names: Sequence[str]) -> bool:
        return all(any(_begins(word, name) for name in names) for word in self.words)


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    """The words of a text in small letters, umlauts as two of them, other accents left out."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFC", text.casefold()).translate(_UMLAUTS))
    return tuple(re.findall(r"\w+(?:\.\w+)*", "".join(mark for mark in plain if not unicodedata.combining(mark))))


def _said(text: str) -> Iterable[str]:
    return ["".join(_words(phrase)) for phrase in text.split(",")]


def _is(typed: str, word: str) -> bool:
    rest = typed.removeprefix(word)
    return typed == word or (len(word) >= _SHORTEST_STEM and typed.startswith(word) and rest in _ENDINGS)


def _begins(typed: str, word: str) -> bool:
    return word.startswith(typed) or _is(typed, word)
