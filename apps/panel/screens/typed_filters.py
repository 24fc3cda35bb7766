"""Filters that one types into: a day, an amount or a number from and to, a word.

They stand in the form of the list's filters (``filter_panel``). What cannot be read is said under the field and above
the list, and nothing fits it: rows that were not asked for must not look as if they did.
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

from apps.ground import languages, ranks
from apps.ground.tenancy import current_shop
from apps.panel.money import MoneyField
from apps.panel.screens.filters import Screen

M = TypeVar("M", bound=Model)
Value = TypeVar("Value")
LONGEST = 255
MOST = 2**31 - 1


class TypedFilter(admin.ListFilter, Generic[Value]):
    """A filter by what a person types; derive from it and say how it is read and which rows fit.

    Attributes:
        parameter_name: What its fields begin with in the address.
        own_order: The order in which its index has the rows that fit.
        parts: Its fields: the ending of each one's parameter, and what people call it; empty where one field says it.
        kind: The ``type`` of its fields in HTML.
        mode: Their ``inputmode``.
    """

    template = "panel/typed_filter.html"
    parameter_name: str
    own_order: Sequence[str] = ("-pk",)
    parts: Sequence[tuple[str, StrOrPromise]] = (("", ""),)
    kind = "text"
    mode = "text"

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: type[Model], model_admin: Screen) -> None:
        """Take what is its own out of the address' parameters."""
        super().__init__(request, params, model, model_admin)
        self.model = model
        self.typed: dict[str, str] = {}
        self.values: dict[str, Value] = {}
        self.problems: dict[str, str] = {}
        for name in self.expected_parameters():
            self.typed[name] = str(params.pop(name, [""])[-1]).strip()[:LONGEST]
            if self.typed[name]:
                self._read(name)

    def _read(self, name: str) -> None:
        try:
            self.values[name] = self.read(self.typed[name])
        except ValidationError as error:
            self.problems[name] = " ".join(error.messages)

    def read(self, text: str) -> Value:
        """What was typed, as a value.

        Raises:
            ValidationError: It is none.
        """
        raise NotImplementedError

    def fitting(self, rows: QuerySet[M], values: Sequence[Value | None]) -> QuerySet[M]:
        """The rows that fit the values, of which at least one is given; as many as there are parts."""
        raise NotImplementedError

    def told(self, value: Value) -> str:
        """A value, as people read it."""
        return str(value)

    def expected_parameters(self) -> list[str]:  # type: ignore[override]
        """Its fields in the address."""
        return [f"{self.parameter_name}{ending}" for ending, _label in self.parts]

    def has_output(self) -> bool:
        """Always."""
        return True

    def queryset(self, request: HttpRequest, queryset: QuerySet[M]) -> QuerySet[M]:
        """The rows that fit; none where what was typed cannot be read."""
        if self.problems:
            return queryset.none()
        if not self.values:
            return queryset
        return self.fitting(queryset, [self.values.get(name) for name in self.expected_parameters()])

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """One, with its fields and what they say now in words."""
        names = self.expected_parameters()
        yield {
            "fields": [
                {"name": name, "label": label, "typed": self.typed[name], "problem": self.problems.get(name, "")}
                for name, (_ending, label) in zip(names, self.parts, strict=True)
            ],
            "selected": any(self.typed.values()),
            "display": self._said(),
        }

    def _said(self) -> str:
        said = [self.told(self.values[name]) if name in self.values else text for name, text in self.typed.items()]
        if len(said) == 1 or not any(said):
            return "".join(said)
        since, until = said
        if not until:
            return _("from {since}").format(since=since)
        return _("to {until}").format(until=until) if not since else f"{since} – {until}"


class _RangeFilter(TypedFilter[Value]):
    """From and to, both within it."""

    parts = (("_from", pgettext_lazy("range", "From")), ("_to", pgettext_lazy("range", "To")))
    field: str

    @property
    def own_order(self) -> Sequence[str]:  # type: ignore[override]
        """By the field, and rows that are equal in it by their keys."""
        return ranks.by_rank(self.model, (f"-{self.field}", "-pk"))

    def fitting(self, rows: QuerySet[M], values: Sequence[Value | None]) -> QuerySet[M]:
        """The rows within the range, both ends included."""
        since, until = values
        if since is not None:
            rows = rows.filter(ranks.where(self.model, self.field, "gte", since))
        return rows if until is None else rows.filter(ranks.where(self.model, self.field, "lte", until))


class DaysFilter(_RangeFilter[date]):
    """Days of the shop, from and to; derive from it and name the field, which holds moments.

    The list is in the order of the field, newest first, unless a person sorts it.
    """

    kind = "date"

    def read(self, text: str) -> date:
        """A day, as browsers send it: ``2026-11-24``."""
        found = forms.DateField(input_formats=["%Y-%m-%d"]).clean(text)
        if not isinstance(found, date) or found.year in {date.min.year, date.max.year}:
            raise ValidationError(_("Enter a valid date."))
        return found

    def fitting(self, rows: QuerySet[M], values: Sequence[date | None]) -> QuerySet[M]:
        """The rows of those days, the last one included."""
        since, until = values
        if since:
            rows = rows.filter(**{f"{self.field}__gte": _begin(since)})
        return rows.filter(**{f"{self.field}__lt": _begin(until + timedelta(days=1))}) if until else rows

    def told(self, value: date) -> str:
        """A day in the reader's way of writing it."""
        return date_format(value, "SHORT_DATE_FORMAT")


class AmountsFilter(_RangeFilter[Any]):
    """Amounts from and to, as people write them; derive from it and name the field."""

    mode = "decimal"

    def read(self, text: str) -> Any:
        """An amount, ``9.90`` or ``9,90``."""
        return MoneyField().clean(text)

    def told(self, value: Any) -> str:
        """With the decimals of the shop's currency."""
        return languages.amount(value, current_shop().currency)


class NumbersFilter(_RangeFilter[int]):
    """Whole numbers from and to; derive from it and name the field."""

    mode = "numeric"

    def read(self, text: str) -> int:
        """A number that no column is too narrow for."""
        found: int = forms.IntegerField(min_value=0, max_value=MOST).clean(text)
        return found

    def told(self, value: int) -> str:
        """In the reader's way of writing it."""
        return languages.count(value)


class WordFilter(TypedFilter[str]):
    """One whole word, such as a vendor; derive from it and say which rows have it."""

    def read(self, text: str) -> str:
        """As it is typed; no database keeps a NUL character."""
        return forms.CharField(max_length=LONGEST).clean(text)


def _begin(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
