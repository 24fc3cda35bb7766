"""By what the list of orders is narrowed besides its views: each by an index of its own."""

from collections.abc import Sequence
from typing import Any

from django.db.models import BooleanField, Func, QuerySet, Value
from django.db.models.functions import Upper
from django.http import HttpRequest
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.orders.models import Order
from apps.panel.screens.filters import Choices, Screen, SelectFilter
from apps.panel.screens.typed_filters import AmountsFilter, DaysFilter, WordFilter

Sending = Order.FulfillmentStatus


class SendingFilter(SelectFilter):
    """By how far it is sent; an order of which nothing is has no status, which no address could say."""

    title = gettext_lazy("fulfillment status")
    parameter_name = "sending"
    none = "unfulfilled"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        """All states."""
        return [(value or self.none, str(label)) for value, label in Sending.choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Order]) -> QuerySet[Order]:
        """The orders that are so far."""
        value = self.value()
        if value not in {self.none, *Sending.values}:
            return queryset
        return queryset.filter(fulfillment_status=Sending.UNFULFILLED if value == self.none else value)


class ProcessedFilter(DaysFilter):
    """By the day on which the order was made."""

    title = gettext_lazy("date")
    parameter_name = "processed"
    field = "processed_at"


class TotalFilter(AmountsFilter):
    """By what it comes to."""

    title = pgettext_lazy("filter", "total")
    parameter_name = "total"
    field = "total_price"


class ChannelFilter(WordFilter):
    """By where it came from, as its sender calls it, in any case."""

    title = gettext_lazy("channel")
    parameter_name = "channel"

    def fitting(self, rows: QuerySet[Order], values: Sequence[str | None]) -> QuerySet[Order]:  # type: ignore[override]
        """The orders of the channel."""
        named = rows.exclude(source_name="").alias(channel=Upper("source_name"))
        return named.filter(channel=Upper(Value(values[0])))


class TagFilter(WordFilter):
    """By one of its tags, in any case."""

    title = gettext_lazy("tag")
    parameter_name = "tag"

    def fitting(self, rows: QuerySet[Order], values: Sequence[str | None]) -> QuerySet[Order]:  # type: ignore[override]
        """The orders with the tag."""
        return rows.exclude(tags="").filter(_HasTag("tags", Value(values[0])))


class _HasTag(Func):
    """Whether one of the tags in a column is a text; PostgreSQL has an index of tags, and counts how many have each."""

    arity = 2
    output_field = BooleanField()

    def as_sql(self, compiler: Any, connection: Any, *_args: Any, **_: Any) -> tuple[str, Any]:
        """For SQLite."""
        return self._of(compiler, "INSTR(', ' || UPPER({}) || ', ', ', ' || UPPER({}) || ', ') > 0")

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, Any]:
        """As ``orders_order_by_tag`` has them."""
        return self._of(compiler, "string_to_array(upper({}), ', ') @> ARRAY[upper({}::text)]")

    def _of(self, compiler: Any, template: str) -> tuple[str, Any]:
        parts = [compiler.compile(part) for part in self.get_source_expressions()]
        return template.format(*(sql for sql, _parameters in parts)), [each for _sql, given in parts for each in given]
