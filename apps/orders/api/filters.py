"""How lists of orders are narrowed."""

from django.db.models import Model, QuerySet

from apps.api.resources.filters import IdFilter, MomentFilter, ResourceFilter, TextFilter, WordFilter
from apps.orders.models import Order

Financial = Order.FinancialStatus
Fulfillment = Order.FulfillmentStatus
ANY = "any"

STATUSES = (*Order.Status.values, ANY)
FINANCIAL: dict[str, tuple[str, ...]] = {
    **{word: (word,) for word in Financial.values},
    "unpaid": (Financial.PENDING, Financial.AUTHORIZED, Financial.PARTIALLY_PAID),
}
FULFILLMENT: dict[str, tuple[str, ...]] = {
    "shipped": (Fulfillment.FULFILLED,),
    "fulfilled": (Fulfillment.FULFILLED,),
    "partial": (Fulfillment.PARTIAL,),
    "unshipped": (Fulfillment.UNFULFILLED,),
    "unfulfilled": (Fulfillment.UNFULFILLED, Fulfillment.PARTIAL),
    "restocked": (Fulfillment.RESTOCKED,),
}
# The two time stamps that only the whole list of a shop takes are inherited.


class StatusFilter(WordFilter):
    """``open``, ``closed``, ``cancelled`` or ``any``."""

    def __init__(self) -> None:
        """The four words."""
        super().__init__("status", words=STATUSES)

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        """The rows that fit."""
        return qs if value in (None, ANY) else qs.filter(status=value)


class GroupFilter(WordFilter):
    """A word that stands for one or more values of a column."""

    def __init__(self, column: str, groups: dict[str, tuple[str, ...]]) -> None:
        """Name the column, and what each word stands for."""
        super().__init__(column, words=(*groups, ANY))
        self.groups = groups

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        """The rows that fit."""
        if value in (None, ANY):
            return qs
        wanted = self.groups[value]
        if len(wanted) == 1:
            return qs.filter(**{self.field_name: wanted[0]})
        return qs.filter(**{f"{self.field_name}__in": wanted})


class NameFilter(TextFilter):
    """An order's name, with or without the number sign."""

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        """The rows that fit."""
        return qs if value is None else qs.filter(name=f"#{value.removeprefix('#')}")


class OrderFilter(ResourceFilter):
    """What the list of orders takes."""

    status = StatusFilter()
    financial_status = GroupFilter("financial_status", FINANCIAL)
    fulfillment_status = GroupFilter("fulfillment_status", FULFILLMENT)
    name = NameFilter("name")
    processed_at_min = MomentFilter("processed_at", "gte")
    processed_at_max = MomentFilter("processed_at", "lte")
    attribution_app_id = IdFilter("app_id")
