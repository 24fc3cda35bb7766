"""Suggest a corrected search text if a search finds nothing, such as "Gonçalves" for "Gonzalves".

The database selects at most ``MAX_CANDIDATES`` rows with a similar word. Python then compares the words, so suggestions
are the same on every database. On PostgreSQL, trigram indexes find the candidates. On SQLite, candidates contain one
half of the word, because a single typing error always leaves the other half unchanged.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import SequenceMatcher
from typing import TypeVar

from django.db import connection, transaction
from django.db.models import BooleanField, F, FloatField, Func, Model, Q, QuerySet, Value

MIN_WORD_LENGTH, MAX_WORD_LENGTH, MAX_WORDS = 4, 40, 5
MAX_CANDIDATES, MAX_SUGGESTIONS = 1_000, 3
# The smallest similarity of two words that are considered similar, from 0 to 1.
MIN_SIMILARITY = 0.75
# The smallest share of trigrams that candidates have in common with the word. One typing error changes a larger share
# of the trigrams of a short word.
_SHORT_WORD, _SHORT_WORD_THRESHOLD, _THRESHOLD = 5, 0.3, 0.4
_WORDS = re.compile(r"\w+")
# Email addresses, fields of the query language and parts of codes are no words that can be corrected.
_NOT_WORDS = re.compile(r"[@:<>=()\"*\d\x00]")

M = TypeVar("M", bound=Model)


class Misspelled:
    """A search text without matches. ``longest_word`` is empty if the text can't be corrected."""

    def __init__(self, text: str) -> None:
        self.typed = [] if _NOT_WORDS.search(text) else _split_words(text)
        folded = [fold_word(word) for word in self.typed]
        self._key = " ".join(folded)
        is_searchable = len(folded) <= MAX_WORDS and all(len(word) <= MAX_WORD_LENGTH for word in folded)
        longest = max(self.typed, key=len, default="") if is_searchable else ""
        self.longest_word = longest if len(fold_word(longest)) >= MIN_WORD_LENGTH else ""
        self._matchers = [SequenceMatcher(None, "", word, autojunk=False) for word in folded]
        self._similarities: dict[tuple[int, str], float] = {}

    def suggest(self, names: Iterable[str]) -> list[str]:
        """Return the best corrected texts, most similar first. All words of a text are from the same name."""
        scores: dict[str, float] = {}
        spellings: dict[str, Counter[str]] = {}
        for name in names:
            words, score = self._correct(_split_words(name))
            key = " ".join(map(fold_word, words))
            if words and key != self._key:
                scores[key] = score
                spellings.setdefault(key, Counter())[" ".join(words)] += 1
        best = sorted(scores, key=lambda key: (-scores[key], -spellings[key].total(), key))
        return [spellings[key].most_common(1)[0][0] for key in best[:MAX_SUGGESTIONS]]

    def _correct(self, words: list[str]) -> tuple[list[str], float]:
        """Return the most similar word for each typed word with their mean similarity, or no words."""
        corrected, total = [], 0.0
        for index in range(len(self.typed)):
            score, best = max(((self._compare(index, fold_word(word)), word) for word in words), default=(0.0, ""))
            if score < MIN_SIMILARITY:
                return [], 0.0
            corrected.append(best)
            total += score
        return corrected, total / len(corrected) if corrected else 0.0

    def _compare(self, index: int, word: str) -> float:
        key = index, word
        if key not in self._similarities:
            matcher = self._matchers[index]
            matcher.set_seq1(word)
            is_close = min(matcher.real_quick_ratio(), matcher.quick_ratio()) >= MIN_SIMILARITY
            self._similarities[key] = matcher.ratio() if is_close else 0.0
        return self._similarities[key]


def fold_word(word: str) -> str:
    """Return the case-folded word without accents."""
    decomposed = unicodedata.normalize("NFKD", word)
    return "".join(character for character in decomposed if not unicodedata.combining(character)).casefold()


def split_in_half(word: str) -> tuple[str, str]:
    """Return both halves of a word. The first half has at least three letters, as many as text indexes need."""
    middle = max(3, len(word) // 2)
    return word[:middle], word[middle:]


def contains_half(column: str, word: str) -> Q:
    first, second = split_in_half(word)
    return Q(**{f"{column}__contains": first}) | Q(**{f"{column}__contains": second})


def select_similar(rows: QuerySet[M], column: str, word: str) -> QuerySet[M]:
    """Select candidates with PostgreSQL's trigram index. Evaluate the queryset within ``similarity_threshold``."""
    similar = Func(
        F(column), Value(word), template="(%(expressions)s)", arg_joiner=" %%> ", output_field=BooleanField()
    )
    similarity = Func(Value(word), F(column), function="word_similarity", output_field=FloatField())
    return rows.filter(similar).order_by(similarity.desc())[:MAX_CANDIDATES]


@contextmanager
def similarity_threshold(word: str) -> Iterator[None]:
    """Set PostgreSQL's threshold of similar words for one transaction."""
    threshold = _SHORT_WORD_THRESHOLD if len(word) <= _SHORT_WORD else _THRESHOLD
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('pg_trgm.word_similarity_threshold', %s, true)", [str(threshold)])
        yield


def _split_words(text: str) -> list[str]:
    return _WORDS.findall(unicodedata.normalize("NFC", text))
