"""List filters with typed input: ranges of days, amounts or numbers, and complete values such as a vendor name.

These filters are part of the filter form (``filter_panel``). After invalid input, the list shows an error and no rows,
because unfiltered rows would look like matches. The field shows the error, too.
"""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, Generic, TypeVar

from django import forms
from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy
from django_stubs_ext import StrOrPromise

from apps.core.admin.display.money import MoneyField
from apps.core.admin.lists.filters import Screen
from apps.core.db import sort_tables
from apps.core.i18n import formats
from apps.core.tenancy.scope import get_current_shop

M = TypeVar("M", bound=Model)
Value = TypeVar("Value")
MAX_INPUT_LENGTH = 255
MAX_INTEGER = 2**31 - 1


class TypedFilter(admin.ListFilter, Generic[Value]):
    """A filter with typed input. Subclasses define how to parse the input and which rows match.

    Attributes:
        index_order: The order in which the filter's index returns matches.
        parts: The form fields as pairs of URL parameter suffix and label. A single field has an empty label.
        kind: The HTML ``type`` of the fields.
        mode: The HTML ``inputmode`` of the fields.
    """

    template = "panel/typed_filter.html"
    parameter_name: str
    index_order: Sequence[str] = ("-pk",)
    parts: Sequence[tuple[str, StrOrPromise]] = (("", ""),)
    kind = "text"
    mode = "text"

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: type[Model], model_admin: Screen) -> None:
        super().__init__(request, params, model, model_admin)
        self.model = model
        self.typed: dict[str, str] = {}
        self.values: dict[str, Value] = {}
        self.problems: dict[str, str] = {}
        for name in self.expected_parameters():
            self.typed[name] = str(params.pop(name, [""])[-1]).strip()[:MAX_INPUT_LENGTH]
            if self.typed[name]:
                try:
                    self.values[name] = self.parse_input(self.typed[name])
                except ValidationError as error:
                    self.problems[name] = " ".join(error.messages)

    def parse_input(self, text: str) -> Value:
        """Parse the typed text, or raise a ``ValidationError``."""
        raise NotImplementedError

    def filter_rows(self, rows: QuerySet[M], values: Sequence[Value | None]) -> QuerySet[M]:
        """Return the matching rows. ``values`` has an item for each part, and at least one item is not None."""
        raise NotImplementedError

    def format_value(self, value: Value) -> str:
        """Format a value for display."""
        return str(value)

    def expected_parameters(self) -> list[str]:  # type: ignore[override]
        return [f"{self.parameter_name}{ending}" for ending, _label in self.parts]

    def has_output(self) -> bool:
        return True

    def queryset(self, request: HttpRequest, queryset: QuerySet[M]) -> QuerySet[M]:
        """Return the matching rows, or no rows if the input is invalid."""
        if self.problems:
            return queryset.none()
        if not self.values:
            return queryset
        return self.filter_rows(queryset, [self.values.get(name) for name in self.expected_parameters()])

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        names = self.expected_parameters()
        yield {
            "fields": [
                {"name": name, "label": label, "typed": self.typed[name], "problem": self.problems.get(name, "")}
                for name, (_ending, label) in zip(names, self.parts, strict=True)
            ],
            "selected": any(self.typed.values()),
            "display": self._describe_values(),
        }

    def _describe_values(self) -> str:
        texts = [
            self.format_value(self.values[name]) if name in self.values else text for name, text in self.typed.items()
        ]
        if len(texts) == 1 or not any(texts):
            return "".join(texts)
        since, until = texts
        if not until:
            return _("from {since}").format(since=since)
        return _("to {until}").format(until=until) if not since else f"{since} – {until}"


class _RangeFilter(TypedFilter[Value]):
    """A filter by a range that includes both end values."""

    parts = (("_from", pgettext_lazy("range", "From")), ("_to", pgettext_lazy("range", "To")))
    field: str

    @property
    def index_order(self) -> Sequence[str]:  # type: ignore[override]
        return sort_tables.map_to_sort_columns(self.model, (f"-{self.field}", "-pk"))

    def filter_rows(self, rows: QuerySet[M], values: Sequence[Value | None]) -> QuerySet[M]:
        for operator, value in zip(("gte", "lte"), values, strict=True):
            if value is not None:
                rows = rows.filter(sort_tables.filter_sort_column(self.model, self.field, operator, value))
        return rows


class DaysFilter(_RangeFilter[date]):
    """A filter by a range of days in the shop's time zone. Subclasses set the datetime field.

    While the filter is active, the list is sorted by the datetime field, newest first, unless the user sorts the list.
    """

    kind = "date"

    def parse_input(self, text: str) -> date:
        day = forms.DateField(input_formats=["%Y-%m-%d"]).clean(text)
        if not isinstance(day, date) or day.year in {date.min.year, date.max.year}:
            raise ValidationError(_("Enter a valid date."))
        return day

    def filter_rows(self, rows: QuerySet[M], values: Sequence[date | None]) -> QuerySet[M]:
        since, until = values
        if since:
            rows = rows.filter(**{f"{self.field}__gte": _get_start_of_day(since)})
        return rows.filter(**{f"{self.field}__lt": _get_start_of_day(until + timedelta(days=1))}) if until else rows

    def format_value(self, value: date) -> str:
        return date_format(value, "SHORT_DATE_FORMAT")


class AmountsFilter(_RangeFilter[Any]):
    mode = "decimal"

    def parse_input(self, text: str) -> Any:
        return MoneyField().clean(text)

    def format_value(self, value: Any) -> str:
        return formats.format_amount(value, get_current_shop().currency)


class NumbersFilter(_RangeFilter[int]):
    mode = "numeric"

    def parse_input(self, text: str) -> int:
        return forms.IntegerField(min_value=0, max_value=MAX_INTEGER).clean(text)

    def format_value(self, value: int) -> str:
        return formats.format_integer(value)


class WordFilter(TypedFilter[str]):
    """A filter that matches a complete value, such as a vendor name. Subclasses define the matching rows."""

    def parse_input(self, text: str) -> str:
        """Return the text as typed, without NUL characters, which databases reject."""
        return forms.CharField(max_length=MAX_INPUT_LENGTH).clean(text)


def _get_start_of_day(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
