"""Rows that an address names."""

from typing import TypeVar

from django.db.models import Model, QuerySet
from django.http import Http404

M = TypeVar("M", bound=Model)


def row_or_404(rows: QuerySet[M], identity: str) -> M:
    """The row of that id.

    Raises:
        Http404: There is none.
    """
    found = rows.filter(pk=int(identity)).first() if identity.isdecimal() and len(identity) <= 18 else None
    if found is None:
        raise Http404(f"No {rows.model._meta.verbose_name} {identity}")
    return found
