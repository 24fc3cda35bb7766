"""By what the list of customers is narrowed besides their states."""

from collections.abc import Sequence

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.customers.domain.search import SEARCH
from apps.customers.models import Customer
from apps.ground.tenancy import current_shop
from apps.panel.screens.typed_filters import AmountsFilter, DaysFilter, NumbersFilter, WordFilter
from apps.query import Term
from apps.query.nodes import Comparator


class TagFilter(WordFilter):
    """By one of their tags, in any case: the query language's ``tag:…``."""

    title = gettext_lazy("tag")
    parameter_name = "tag"

    def fitting(self, rows: QuerySet[Customer], values: Sequence[str | None]) -> QuerySet[Customer]:  # type: ignore[override]
        """The customers with the tag."""
        term = Term("tag", Comparator.EQUAL, values[0] or "", quoted=True)
        return rows.filter(SEARCH.compile(term, zone=current_shop().tzinfo))


class SinceFilter(DaysFilter):
    """By the day on which the customer became known."""

    title = gettext_lazy("creation")
    parameter_name = "created"
    field = "created_at"


class SpentFilter(AmountsFilter):
    """By what the customer spent so far, in the shop's currency."""

    title = pgettext_lazy("filter", "amount spent")
    parameter_name = "spent"
    field = "total_spent"


class OrdersFilter(NumbersFilter):
    """By how many orders the customer made."""

    title = pgettext_lazy("filter", "number of orders")
    parameter_name = "orders"
    field = "orders_count"
