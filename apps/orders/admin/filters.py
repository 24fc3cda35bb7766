"""Filters for the order list, each backed by an index."""

from collections.abc import Sequence
from typing import Any

from django.db.models import BooleanField, Func, QuerySet, Value
from django.db.models.functions import Upper
from django.http import HttpRequest
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.orders.models import Order
from apps.panel.admin_base.filters import Choices, Screen, SelectFilter
from apps.panel.admin_base.typed_filters import AmountsFilter, DaysFilter, WordFilter

FulfillmentStatus = Order.FulfillmentStatus


class FulfillmentStatusFilter(SelectFilter):
    """Filter by fulfillment status. "Unfulfilled" is stored as an empty string, so the URL uses a different value."""

    title = gettext_lazy("fulfillment status")
    parameter_name = "sending"
    none = "unfulfilled"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        return [(value or self.none, str(label)) for value, label in FulfillmentStatus.choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Order]) -> QuerySet[Order]:
        value = self.value()
        if value not in {self.none, *FulfillmentStatus.values}:
            return queryset
        return queryset.filter(fulfillment_status=FulfillmentStatus.UNFULFILLED if value == self.none else value)


class ProcessedFilter(DaysFilter):
    """Filter by the date the order was processed."""

    title = gettext_lazy("date")
    parameter_name = "processed"
    field = "processed_at"


class TotalFilter(AmountsFilter):
    """Filter by the order's total."""

    title = pgettext_lazy("filter", "total")
    parameter_name = "total"
    field = "total_price"


class ChannelFilter(WordFilter):
    """Filter by channel (``source_name``), case-insensitively."""

    title = gettext_lazy("channel")
    parameter_name = "channel"

    def filter_rows(self, rows: QuerySet[Order], values: Sequence[str | None]) -> QuerySet[Order]:  # type: ignore[override]
        with_channel = rows.exclude(source_name="").alias(channel=Upper("source_name"))
        return with_channel.filter(channel=Upper(Value(values[0])))


class TagFilter(WordFilter):
    """Filter by a tag, case-insensitively."""

    title = gettext_lazy("tag")
    parameter_name = "tag"

    def filter_rows(self, rows: QuerySet[Order], values: Sequence[str | None]) -> QuerySet[Order]:  # type: ignore[override]
        return rows.exclude(tags="").filter(_HasTag("tags", Value(values[0])))


class _HasTag(Func):
    """A SQL condition that is true if a column of comma-separated tags contains a given tag."""

    arity = 2
    output_field = BooleanField()

    def as_sql(self, compiler: Any, connection: Any, *_args: Any, **_: Any) -> tuple[str, Any]:
        """Return the SQL for SQLite.

        PostgreSQL uses ``as_postgresql`` instead, with a GIN index that provides statistics on how often each tag
        occurs.
        """
        return self._render(compiler, "INSTR(', ' || UPPER({}) || ', ', ', ' || UPPER({}) || ', ') > 0")

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, Any]:
        """Return the SQL of the expression that ``orders_order_by_tag`` indexes."""
        return self._render(compiler, "string_to_array(upper({}), ', ') @> ARRAY[upper({}::text)]")

    def _render(self, compiler: Any, template: str) -> tuple[str, Any]:
        parts = [compiler.compile(part) for part in self.get_source_expressions()]
        return template.format(*(sql for sql, _parameters in parts)), [
            parameter for _sql, parameters in parts for parameter in parameters
        ]
