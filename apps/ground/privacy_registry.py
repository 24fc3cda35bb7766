"""A registry of personal data. Every text column must be declared as personal or as non-personal.

Each Django app declares its columns in ``ready()``. A test fails for undeclared columns. When a customer is erased,
``apps.customers.domain.personal_data`` calls the functions that erase the personal columns.
"""

from collections.abc import Collection, Mapping
from functools import reduce
from operator import or_

from django.db.models import Q

# Column names, keyed by model label, e.g. ``orders.Order``.
ColumnsByModel = Mapping[str, Collection[str]]

_personal: dict[str, set[str]] = {}
_non_personal: dict[str, set[str]] = {}


def declare_personal(columns_by_model: ColumnsByModel) -> None:
    """Declare columns that may contain customers' personal data."""
    _add(_personal, columns_by_model)


def declare_non_personal(columns_by_model: ColumnsByModel) -> None:
    """Declare columns without customers' personal data, such as data about shops, products, staff and the system."""
    _add(_non_personal, columns_by_model)


def _add(kind: dict[str, set[str]], columns_by_model: ColumnsByModel) -> None:
    for label, columns in columns_by_model.items():
        kind.setdefault(label, set()).update(columns)


def get_personal_columns(label: str) -> frozenset[str]:
    """Return the personal columns of a model."""
    return frozenset(_personal.get(label, ()))


def get_non_personal_columns(label: str) -> frozenset[str]:
    """Return the non-personal columns of a model."""
    return frozenset(_non_personal.get(label, ()))


def build_mention_filter(columns: Collection[str], words: Collection[str]) -> Q:
    """Return a filter for rows in which any of the columns contains any of the words, ignoring case.

    If there are no words, the filter matches no rows.
    """
    conditions = [Q(**{f"{column}__icontains": word}) for column in columns for word in words]
    return reduce(or_, conditions, Q(pk__in=()))
