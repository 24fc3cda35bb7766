"""The report of refunds: by period, reason and product, as tables, a chart and files for spreadsheets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy

from apps.ground import languages
from apps.ground.cells import Writer
from apps.ground.money import text_of
from apps.ground.tenancy import current_shop
from apps.panel.access import may, require
from apps.panel.charts import bars_of
from apps.panel.menu import Menu, add_page
from apps.panel.requests import Context
from apps.panel.screens.forms import Values
from apps.panel.tables import ReportTable
from apps.refunds.domain import reporting
from apps.refunds.domain.reporting import Row, Span
from apps.staff.domain.permissions import grant_custom

REPORT = "refunds.view_report"
DEFAULT_DAYS = 30
MOST_SHOWN = 100
_DATE = forms.DateInput(attrs={"type": "date", "class": "bo-input"}, format="%Y-%m-%d")

grant_custom("reports", REPORT, reads=True)
add_page(
    Menu(
        "Sales",
        "bar_chart",
        16,
        gettext_lazy("Refund report"),
        words=pgettext_lazy("search", "returns, money back, statistics, analytics, figures"),
    ),
    "refunds_refund_report",
    lambda request: may(request, REPORT),
)


class SpanForm(forms.Form):
    """Which days, and how they are put together."""

    first = forms.DateField(label=gettext_lazy("From"), widget=_DATE, input_formats=["%Y-%m-%d"])
    last = forms.DateField(label=gettext_lazy("Until"), widget=_DATE, input_formats=["%Y-%m-%d"])
    step = forms.ChoiceField(
        label=gettext_lazy("By"),
        choices=[("day", gettext_lazy("Day")), ("week", gettext_lazy("Week")), ("month", gettext_lazy("Month"))],
        widget=forms.Select(attrs={"class": "bo-input"}),
    )

    def clean(self) -> Values:
        """The days are in their order, and not too many."""
        data = super().clean() or self.cleaned_data
        first, last, step = data.get("first"), data.get("last"), data.get("step")
        if first and last and step:
            if first > last:
                self.add_error("last", _("This is before the first day."))
            elif (last - first).days >= reporting.MOST_DAYS[step]:
                by_day = _("A report reaches over a year by day at the most.")
                self.add_error("last", by_day if step == "day" else _("A report reaches over five years at the most."))
            elif not date(1970, 1, 2) <= first <= last <= date(9000, 1, 1):
                self.add_error("first", _("There were no refunds then."))
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown(ReportTable):
    """A table of the report; ``name`` stands in addresses."""

    name: str


_TABLES: dict[str, tuple[str, str, Callable[[Span], list[Row]]]] = {
    "periods": (gettext_noop("Period by period"), gettext_noop("Period"), reporting.by_period),
    "reasons": (gettext_noop("By reason"), gettext_noop("Reason"), reporting.by_reason),
    "products": (gettext_noop("By product"), gettext_noop("Product"), reporting.by_product),
}


def report_view(request: HttpRequest, base: Context) -> HttpResponse:
    """The page; ``base`` is what each page of the screen shows."""
    require(request, REPORT)
    form = _form(request)
    context: Context = {"form": form}
    if form.is_valid():
        span, currency = Span(**form.cleaned_data), current_shop().currency
        found = {name: rows(span) for name, (_title, _first, rows) in _TABLES.items()}
        bars = [(row.money, f"{_name(row, span)}: {languages.money(row.money, currency)}") for row in found["periods"]]
        total = reporting.total(span)
        context |= {
            "total": total,
            "money": languages.money(total.money, currency),
            "currency": currency,
            "tables": [_shown(name, rows, span, currency) for name, rows in found.items()],
            "bars": bars_of(bars),
            "ends": (languages.dated(span.first, "j M Y"), languages.dated(span.last, "j M Y")),
            "query": request.GET.urlencode(),
        }
    return TemplateResponse(request, "panel/refunds/report.html", {**base, "title": _("Refund report"), **context})


def file_view(request: HttpRequest) -> HttpResponse:
    """One of the tables, for a spreadsheet; ``table`` of the query names it.

    Raises:
        Http404: There is no such table, or there are no such days.
    """
    require(request, REPORT)
    form, table = _form(request), request.GET.get("table", "periods")
    if table not in _TABLES or not form.is_valid():
        raise Http404("There is no such report")
    span, currency = Span(**form.cleaned_data), current_shop().currency
    _title, first, rows = _TABLES[table]
    response = HttpResponse("\ufeff", content_type="text/csv; charset=utf-8")
    name = f"refunds-{table}-{span.first:%Y-%m-%d}-{span.last:%Y-%m-%d}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    add_never_cache_headers(response)
    columns = (first, "Refunds", "Units", f"Money ({currency})")
    writer = Writer(response, columns)
    for row in rows(span):
        key = row.name.isoformat() if isinstance(row.name, date) else row.name
        values = (key, row.refunds, row.units, text_of(row.money, currency))
        writer.write(dict(zip(columns, values, strict=True)))
    return response


def _form(request: HttpRequest) -> SpanForm:
    today = timezone.localdate()
    usual = {"first": today - timedelta(days=DEFAULT_DAYS - 1), "last": today, "step": "day"}
    return SpanForm({name: request.GET.get(name, value) for name, value in usual.items()})


def _name(row: Row, span: Span) -> str:
    if not isinstance(row.name, date):
        return row.name
    if span.step == "month":
        return date_format(row.name, "F Y")
    day = languages.dated(row.name, "j M Y")
    return _("Week of {day}").format(day=day) if span.step == "week" else day


def _shown(name: str, rows: Sequence[Row], span: Span, currency: str) -> Shown:
    title, first, _rows = _TABLES[name]
    # Of many periods the latest come first; all of them are shown, as they are bounded.
    ordered = [row for row in reversed(rows) if row.refunds] if name == "periods" else list(rows[:MOST_SHOWN])
    written = [(_name(row, span), row.refunds, row.units, languages.amount(row.money, currency)) for row in ordered]
    return Shown(
        name=name,
        title=_(title),
        columns=(_(first), _("Refunds"), _("Units"), currency),
        rows=written,
        more=len(rows) - MOST_SHOWN if name != "periods" else 0,
    )
