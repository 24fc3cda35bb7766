from functools import cached_property
from typing import TypeVar, cast

from django.core.paginator import Paginator
from django.db.models import Model, QuerySet

MAX_COUNTED_ROWS = 10_000
M = TypeVar("M", bound=Model)


class BoundedPaginator(Paginator[M]):
    """A paginator that counts and shows at most ``MAX_COUNTED_ROWS`` rows."""

    template_name = "panel/pagination.html"

    @cached_property
    def count(self) -> int:
        if isinstance(self.object_list, list):
            return len(self.object_list)
        rows = cast("QuerySet[M]", self.object_list)
        return rows.order_by()[:MAX_COUNTED_ROWS].count()

    @property
    def is_complete(self) -> bool:
        return self.count < MAX_COUNTED_ROWS
