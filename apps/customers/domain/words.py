"""Where searches find the columns that ``search_text`` writes: on PostgreSQL in a narrow table beside the customers."""

from django.db import connection
from django.db.models import Q


def table() -> str:
    """The name by which customers know the table; blank where it is their own."""
    return "words" if connection.vendor == "postgresql" else ""


def where(column: str, pattern: str) -> Q:
    """The customers of whom a search column holds a text, case and all."""
    return Q(**{f"{_within(column)}__contains": pattern})


def person(pk: int) -> Q:
    """One customer, found where the words are: so this and other words are read from one table, whichever holds."""
    return Q(**{_within("of_id" if table() else "pk"): pk})


def _within(column: str) -> str:
    return f"{table()}__{column}" if table() else column
