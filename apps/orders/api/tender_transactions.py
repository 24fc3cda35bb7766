"""Views for tender transactions: the transactions of all orders that moved money."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from django.db.models import QuerySet

from apps.core.rest.reading import keyset_pagination
from apps.core.rest.resources.filters import DateTimeFilter, ResourceFilter
from apps.core.rest.viewsets import ShopViewSet
from apps.orders.api.transactions import TenderTransactionSerializer
from apps.orders.models import MOVED_MONEY, Transaction


class TenderTransactionFilter(ResourceFilter):
    processed_at_min = DateTimeFilter("processed_at", "gte")
    processed_at_max = DateTimeFilter("processed_at", "lte")


class TenderTransactionViewSet(ShopViewSet[Transaction]):
    """The read-only list of payments and refunds. A tender transaction has the id of its transaction."""

    scope = "orders"
    serializer_class = TenderTransactionSerializer
    filterset_class = TenderTransactionFilter
    singular = "tender_transaction"
    sort_columns: ClassVar[Mapping[str, Sequence[str]]] = {"id": (), "processed_at": ("processed_at",)}

    def get_queryset(self) -> QuerySet[Transaction]:
        return Transaction.objects.filter(MOVED_MONEY)

    def get_order(self, filters: Mapping[str, str]) -> keyset_pagination.Order:
        """Return the order of the list. A range of times is ordered by time, so that one index serves both."""
        is_range = filters.keys() & {"processed_at_min", "processed_at_max"}
        if is_range and not filters.keys() & {"order", "since_id"}:
            return ("processed_at", "id")
        return super().get_order(filters)

    def is_index_range(self, filters: Mapping[str, str], order: keyset_pagination.Order) -> bool:
        """Return True for all tender transactions or a range of times, which the partial indexes contain."""
        has_filters = bool(filters.keys() & self.filterset_class.base_filters.keys())
        return not has_filters or super().is_index_range(filters, order)
