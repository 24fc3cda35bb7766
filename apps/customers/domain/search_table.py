"""Locate the search columns: on PostgreSQL in the narrow table ``CustomerWords``, else in the customers table."""

from django.db import connection
from django.db.models import Q


def get_search_relation() -> str:
    """Return the relation from a customer to the search columns; blank for the customers table."""
    return "words" if connection.vendor == "postgresql" else ""


def match_column(column: str, pattern: str) -> Q:
    """Return the condition for a text in a search column."""
    return Q(**{f"{_get_lookup(column)}__contains": pattern})


def match_customer(pk: int) -> Q:
    """Return the condition for one customer, by a column of the same table as the search columns.

    Combined conditions then read only one table.
    """
    return Q(**{_get_lookup("of_id" if get_search_relation() else "pk"): pk})


def _get_lookup(column: str) -> str:
    return f"{get_search_relation()}__{column}" if get_search_relation() else column
