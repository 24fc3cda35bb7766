"""Look up a row by an id in the URL."""

from typing import TypeVar

from django.db.models import Model, QuerySet
from django.http import Http404

M = TypeVar("M", bound=Model)


def get_row_or_404(rows: QuerySet[M], object_id: str) -> M:
    """Return the row with this id.

    Raises:
        Http404: No row has this id.
    """
    row = rows.filter(pk=int(object_id)).first() if object_id.isdecimal() and len(object_id) <= 18 else None
    if row is None:
        raise Http404(f"No {rows.model._meta.verbose_name} {object_id}")
    return row
