"""Filters for the customer list."""

from collections.abc import Sequence

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.admin.lists.typed_filters import AmountsFilter, DaysFilter, NumbersFilter, WordFilter
from apps.core.search_query import Term
from apps.core.search_query.nodes import Comparator
from apps.core.tenancy.scope import get_current_shop
from apps.customers.domain.search_fields import SEARCH
from apps.customers.models import Customer


class TagFilter(WordFilter):
    """Filter by a tag, ignoring case, like ``tag:…`` in the query language."""

    title = gettext_lazy("tag")
    parameter_name = "tag"

    def filter_rows(self, rows: QuerySet[Customer], values: Sequence[str | None]) -> QuerySet[Customer]:  # type: ignore[override]
        """Return the customers with the tag."""
        term = Term("tag", Comparator.EQUAL, values[0] or "", quoted=True)
        return rows.filter(SEARCH.compile(term, zone=get_current_shop().tzinfo))


class SinceFilter(DaysFilter):
    """Filter by creation date."""

    title = gettext_lazy("creation date")
    parameter_name = "created"
    field = "created_at"


class SpentFilter(AmountsFilter):
    """Filter by the total spent in the shop currency."""

    title = pgettext_lazy("filter", "amount spent")
    parameter_name = "spent"
    field = "total_spent"


class OrdersFilter(NumbersFilter):
    """Filter by the number of orders."""

    title = pgettext_lazy("filter", "number of orders")
    parameter_name = "orders"
    field = "orders_count"
