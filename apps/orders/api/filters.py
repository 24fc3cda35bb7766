"""Filters for the order list."""

from django.db.models import Model, QuerySet

from apps.api.resources.filters import ChoiceFilter, DateTimeFilter, IdFilter, ResourceFilter, TextFilter
from apps.orders.models import Order

FinancialStatus = Order.FinancialStatus
FulfillmentStatus = Order.FulfillmentStatus
ANY = "any"

STATUSES = (*Order.Status.values, ANY)
FINANCIAL_GROUPS: dict[str, tuple[str, ...]] = {
    **{word: (word,) for word in FinancialStatus.values},
    "unpaid": (FinancialStatus.PENDING, FinancialStatus.AUTHORIZED, FinancialStatus.PARTIALLY_PAID),
}
FULFILLMENT_GROUPS: dict[str, tuple[str, ...]] = {
    "shipped": (FulfillmentStatus.FULFILLED,),
    "fulfilled": (FulfillmentStatus.FULFILLED,),
    "partial": (FulfillmentStatus.PARTIAL,),
    "unshipped": (FulfillmentStatus.UNFULFILLED,),
    "unfulfilled": (FulfillmentStatus.UNFULFILLED, FulfillmentStatus.PARTIAL),
    "restocked": (FulfillmentStatus.RESTOCKED,),
}


class StatusFilter(ChoiceFilter):
    """Filter by ``open``, ``closed``, ``cancelled`` or ``any``."""

    def __init__(self) -> None:
        """Create the filter with the accepted values."""
        super().__init__("status", words=STATUSES)

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        return qs if value in (None, ANY) else qs.filter(status=value)


class GroupFilter(ChoiceFilter):
    """A filter that maps each accepted word to one or more column values."""

    def __init__(self, column: str, groups: dict[str, tuple[str, ...]]) -> None:
        """Set the column, and the column values for each word."""
        super().__init__(column, words=(*groups, ANY))
        self.groups = groups

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        if value in (None, ANY):
            return qs
        values = self.groups[value]
        if len(values) == 1:
            return qs.filter(**{self.field_name: values[0]})
        return qs.filter(**{f"{self.field_name}__in": values})


class NameFilter(TextFilter):
    """Filter by an order's name, with or without the number sign."""

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        return qs if value is None else qs.filter(name=f"#{value.removeprefix('#')}")


class OrderFilter(ResourceFilter):
    status = StatusFilter()
    financial_status = GroupFilter("financial_status", FINANCIAL_GROUPS)
    fulfillment_status = GroupFilter("fulfillment_status", FULFILLMENT_GROUPS)
    name = NameFilter("name")
    processed_at_min = DateTimeFilter("processed_at", "gte")
    processed_at_max = DateTimeFilter("processed_at", "lte")
    attribution_app_id = IdFilter("app_id")
