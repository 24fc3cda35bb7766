"""The refund report by period, reason and product: tables, a chart and CSV files."""

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
from apps.ground.csv_injection import SafeCsvWriter
from apps.ground.money import format_decimal
from apps.ground.tenancy import get_current_shop
from apps.panel.admin_base.forms import Values
from apps.panel.charts import build_bars
from apps.panel.menu import MenuItem, add_page
from apps.panel.permissions import has_permission, require_permission
from apps.panel.report_tables import ReportTable
from apps.panel.staff_request import Context
from apps.refunds.domain import refund_report
from apps.refunds.domain.refund_report import RefundReportRange, RefundReportRow
from apps.staff.domain.permissions import grant_custom_permissions

REPORT = "refunds.view_report"
DEFAULT_DAYS = 30
MAX_ROWS = 100
_DATE = forms.DateInput(attrs={"type": "date", "class": "bo-input"}, format="%Y-%m-%d")

grant_custom_permissions("reports", REPORT, reads=True)
add_page(
    MenuItem(
        "Sales",
        "bar_chart",
        16,
        gettext_lazy("Refund report"),
        search_terms=pgettext_lazy("search", "returns, money back, statistics, analytics, figures"),
    ),
    "refunds_refund_report",
    lambda request: has_permission(request, REPORT),
)


class RefundReportForm(forms.Form):
    """The form for the report's date range and step."""

    first = forms.DateField(label=gettext_lazy("Start date"), widget=_DATE, input_formats=["%Y-%m-%d"])
    last = forms.DateField(label=gettext_lazy("End date"), widget=_DATE, input_formats=["%Y-%m-%d"])
    step = forms.ChoiceField(
        label=gettext_lazy("Group by"),
        choices=[("day", gettext_lazy("Day")), ("week", gettext_lazy("Week")), ("month", gettext_lazy("Month"))],
        widget=forms.Select(attrs={"class": "bo-input"}),
    )

    def clean(self) -> Values:
        """Check that the dates are in order and the range is not too long."""
        data = super().clean() or self.cleaned_data
        first, last, step = data.get("first"), data.get("last"), data.get("step")
        if first and last and step:
            if first > last:
                self.add_error("last", _("Enter a date on or after the start date."))
            elif (last - first).days >= refund_report.MAX_DAYS[step]:
                by_day = _("Enter a shorter period. A report by day covers at most one year.")
                self.add_error(
                    "last",
                    by_day if step == "day" else _("Enter a shorter period. A report covers at most five years."),
                )
            elif not date(1970, 1, 2) <= first <= last <= date(9000, 1, 1):
                self.add_error("first", _("There are no refunds in this period. Enter different dates."))
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class RefundReportTable(ReportTable):
    """A table of the report. ``name`` identifies the table in URLs."""

    name: str


_TABLES: dict[str, tuple[str, str, Callable[[RefundReportRange], list[RefundReportRow]]]] = {
    "periods": (gettext_noop("By period"), gettext_noop("Period"), refund_report.get_refunds_by_period),
    "reasons": (gettext_noop("By reason"), gettext_noop("Reason"), refund_report.get_refunds_by_reason),
    "products": (gettext_noop("By product"), gettext_noop("Product"), refund_report.get_refunds_by_product),
}


def report_view(request: HttpRequest, base: Context) -> HttpResponse:
    """Return the report page. ``base`` is the template context shared by all admin pages."""
    require_permission(request, REPORT)
    form = _get_form(request)
    context: Context = {"form": form}
    if form.is_valid():
        span, currency = RefundReportRange(**form.cleaned_data), get_current_shop().currency
        rows_by_table = {name: rows(span) for name, (_title, _first, rows) in _TABLES.items()}
        bars = [
            (row.amount, f"{_format_row_name(row, span)}: {languages.format_amount(row.amount, currency)}")
            for row in rows_by_table["periods"]
        ]
        total = refund_report.get_refund_totals(span)
        context |= {
            "total": total,
            "money": languages.format_money(total.amount, currency),
            "currency": currency,
            "tables": [_build_table(name, rows, span, currency) for name, rows in rows_by_table.items()],
            "bars": build_bars(bars),
            "ends": (languages.format_date(span.first, "j M Y"), languages.format_date(span.last, "j M Y")),
            "query": request.GET.urlencode(),
        }
    return TemplateResponse(request, "panel/refunds/report.html", {**base, "title": _("Refund report"), **context})


def file_view(request: HttpRequest) -> HttpResponse:
    """Return the table that the query parameter ``table`` selects, as CSV.

    Raises:
        Http404: The table is unknown or the dates are invalid.
    """
    require_permission(request, REPORT)
    form, table = _get_form(request), request.GET.get("table", "periods")
    if table not in _TABLES or not form.is_valid():
        raise Http404("Unknown report")
    span, currency = RefundReportRange(**form.cleaned_data), get_current_shop().currency
    _title, first, rows = _TABLES[table]
    response = HttpResponse("\ufeff", content_type="text/csv; charset=utf-8")
    name = f"refunds-{table}-{span.first:%Y-%m-%d}-{span.last:%Y-%m-%d}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    add_never_cache_headers(response)
    columns = (first, "Refunds", "Units", f"Money ({currency})")
    writer = SafeCsvWriter(response, columns)
    for row in rows(span):
        key = row.name.isoformat() if isinstance(row.name, date) else row.name
        values = (key, row.refunds, row.quantity, format_decimal(row.amount, currency))
        writer.write(dict(zip(columns, values, strict=True)))
    return response


def _get_form(request: HttpRequest) -> RefundReportForm:
    today = timezone.localdate()
    defaults = {"first": today - timedelta(days=DEFAULT_DAYS - 1), "last": today, "step": "day"}
    return RefundReportForm({name: request.GET.get(name, value) for name, value in defaults.items()})


def _format_row_name(row: RefundReportRow, span: RefundReportRange) -> str:
    if not isinstance(row.name, date):
        return row.name
    if span.step == "month":
        return date_format(row.name, "F Y")
    day = languages.format_date(row.name, "j M Y")
    return _("Week of {day}").format(day=day) if span.step == "week" else day


def _build_table(
    name: str, rows: Sequence[RefundReportRow], span: RefundReportRange, currency: str
) -> RefundReportTable:
    title, first, _rows = _TABLES[name]
    # The number of periods is limited, so all periods with refunds are shown, latest first.
    visible_rows = [row for row in reversed(rows) if row.refunds] if name == "periods" else list(rows[:MAX_ROWS])
    cells = [
        (_format_row_name(row, span), row.refunds, row.quantity, languages.format_amount(row.amount, currency))
        for row in visible_rows
    ]
    return RefundReportTable(
        name=name,
        title=_(title),
        columns=(_(first), _("Refunds"), _("Items"), currency),
        rows=cells,
        more=len(rows) - MAX_ROWS if name != "periods" else 0,
    )
