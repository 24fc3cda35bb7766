"""Locate the search columns: in the narrow ``CustomerWords`` table on PostgreSQL, otherwise in the customers table."""

from django.db import connection
from django.db.models import Q


def get_search_relation() -> str:
    """Return the relation from a customer to the search columns, or an empty string for the customers table."""
    return "words" if connection.vendor == "postgresql" else ""


def match_column(column: str, pattern: str) -> Q:
    """Return the condition that a search column contains a pattern."""
    return Q(**{f"{_get_lookup(column)}__contains": pattern})


def match_customer(pk: int) -> Q:
    """Return the condition for one customer, on the id column of the table with the search columns.

    Together with other search conditions, the query then reads only this table.
    """
    return Q(**{_get_lookup("of_id" if get_search_relation() else "pk"): pk})


def _get_lookup(column: str) -> str:
    return f"{get_search_relation()}__{column}" if get_search_relation() else column
