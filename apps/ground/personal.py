"""Where data of customers lies: every column that can hold words is declared, as personal or as impersonal.

A new table or column is declared by its app, in ``ready()``; the suite fails until it is. What is declared personal is
erased with the customer: by the part that ``apps.customers.domain.personal_data`` got with the declaration.
"""

from collections.abc import Collection, Mapping
from functools import reduce
from operator import or_

from django.db.models import Q

# By the label of a model, e.g. ``orders.Order``, the names of columns.
Places = Mapping[str, Collection[str]]

_personal: dict[str, set[str]] = {}
_impersonal: dict[str, set[str]] = {}


def personal(places: Places) -> None:
    """Declare where words of customers may stand."""
    _add(_personal, places)


def impersonal(places: Places) -> None:
    """Declare where none do: what shops, goods, staff and the system say."""
    _add(_impersonal, places)


def _add(kind: dict[str, set[str]], places: Places) -> None:
    for label, columns in places.items():
        kind.setdefault(label, set()).update(columns)


def personal_columns(label: str) -> frozenset[str]:
    """The columns of a model that may hold words of customers."""
    return frozenset(_personal.get(label, ()))


def impersonal_columns(label: str) -> frozenset[str]:
    """The columns of a model that hold none."""
    return frozenset(_impersonal.get(label, ()))


def mentions(columns: Collection[str], words: Collection[str]) -> Q:
    """Rows of which any of these text columns contains any of these words, in whatever case; none without words."""
    found = [Q(**{f"{column}__icontains": word}) for column in columns for word in words]
    return reduce(or_, found, Q(pk__in=()))
