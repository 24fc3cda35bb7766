"""How the panel counts: exactly as far as a person would turn pages, and no further."""

from functools import cached_property
from typing import TypeVar, cast

from django.core.paginator import Paginator
from django.db.models import Model, QuerySet

COUNTED = 10_000
M = TypeVar("M", bound=Model)


class BoundedPaginator(Paginator[M]):
    """Counts at most ``COUNTED`` rows, so that a list of a million costs what one of ten thousand does.

    What lies behind is found by searching and filtering.
    """

    @cached_property
    def count(self) -> int:
        """The number of rows, or ``COUNTED`` where there are more."""
        if isinstance(self.object_list, list):
            return len(self.object_list)
        rows = cast("QuerySet[M]", self.object_list)
        return rows.order_by()[:COUNTED].count()

    @property
    def is_complete(self) -> bool:
        """Whether the count is the whole truth."""
        return self.count < COUNTED
