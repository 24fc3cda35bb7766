"""Suggest customer names that are similar to a search text without matches."""

from collections.abc import Iterator

from django.db import connection
from django.db.models import Q, QuerySet

from apps.core.db.lookups import in_materialized
from apps.core.search_query.similarity import (
    MAX_CANDIDATES,
    Misspelled,
    fold_word,
    select_similar,
    similarity_threshold,
    split_in_half,
)
from apps.core.tenancy.scope import get_current_shop
from apps.customers.domain.search_columns import match_column, narrow_by_beginnings
from apps.customers.models import Customer, CustomerWords

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def suggest_names(text: str, *, with_orders: bool = False) -> list[str]:
    """Return up to three search texts with words of customer names. ``with_orders`` skips customers without orders."""
    misspelled = Misspelled(text)
    word = fold_word(misspelled.longest_word)
    if not word:
        return []
    condition = Q(orders_count__gt=0) if with_orders else Q()
    find = _find_by_trigrams if connection.vendor == "postgresql" else _find_by_halves
    return misspelled.suggest(find(Customer.rows().filter(condition), word))


def _find_by_trigrams(rows: QuerySet[Customer], word: str) -> Iterator[str]:
    words = CustomerWords.objects.filter(shop=get_current_shop())
    similar = select_similar(words, "search_text", word).values("of_id")
    with similarity_threshold(word):
        yield from _list_names(rows.filter(in_materialized(similar)))


def _find_by_halves(rows: QuerySet[Customer], word: str) -> Iterator[str]:
    """Yield names from SQLite's full-text index, which only finds the beginnings of words.

    The first query finds errors in the second half of the word. The second query finds errors in the first half, with
    all beginnings that one error can produce.
    """
    first, second = split_in_half(word)
    for beginnings, condition in (([first], Q()), (_list_beginnings(word), match_column("search_text", second))):
        # Without the index, each search without matches would scan all customers.
        if index_condition := narrow_by_beginnings(beginnings, "search_text"):
            yield from _list_names(rows.filter(index_condition, condition).order_by("-pk")[:MAX_CANDIDATES])


def _list_beginnings(word: str) -> list[str]:
    """Return the first three letters of all words with one error among the first three letters of ``word``."""
    first, second, third, fourth = list(word[:4])
    beginnings = [first + second + third, second + first + third, first + third + second]
    beginnings += [second + third + fourth, first + third + fourth, first + second + fourth]
    for letter in _LETTERS:
        beginnings += [letter + second + third, first + letter + third, first + second + letter]
        beginnings += [letter + first + second, first + letter + second]
    return list(dict.fromkeys(beginnings))


def _list_names(rows: QuerySet[Customer]) -> list[str]:
    return [" ".join(names) for names in rows.values_list("first_name", "last_name")]
