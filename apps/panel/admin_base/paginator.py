"""A paginator that caps the row count, so that large lists stay fast."""

from functools import cached_property
from typing import TypeVar, cast

from django.core.paginator import Paginator
from django.db.models import Model, QuerySet

MAX_COUNTED_ROWS = 10_000
M = TypeVar("M", bound=Model)


class BoundedPaginator(Paginator[M]):
    """A paginator that counts at most ``MAX_COUNTED_ROWS`` rows, so that large lists cost no more than small ones.

    Users find rows beyond that limit by searching and filtering.
    """

    @cached_property
    def count(self) -> int:
        """The number of rows, or ``MAX_COUNTED_ROWS`` if there are more."""
        if isinstance(self.object_list, list):
            return len(self.object_list)
        rows = cast("QuerySet[M]", self.object_list)
        return rows.order_by()[:MAX_COUNTED_ROWS].count()

    @property
    def is_complete(self) -> bool:
        """True if the count is exact."""
        return self.count < MAX_COUNTED_ROWS
