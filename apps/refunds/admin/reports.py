"""The refund report by period, reason and product: tables, a chart and CSV files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy

from apps.core.admin.display.charts import build_bars
from apps.core.admin.display.report_tables import ReportTable
from apps.core.admin.menu import MenuItem, Page, pages
from apps.core.admin.permissions import has_permission, require_permission
from apps.core.admin.staff_request import Context
from apps.core.i18n import formats
from apps.core.money import format_decimal
from apps.core.tenancy.permissions import allow_custom, grants
from apps.core.tenancy.scope import get_current_shop
from apps.orders.admin.reports import SalesReportForm, render_csv
from apps.refunds.domain import refund_report
from apps.refunds.domain.refund_report import RefundReportRange, RefundReportRow

REPORT = "refunds.view_report"
MAX_ROWS = 100

grants.add(allow_custom("reports", REPORT, reads=True))
pages.add(
    Page(
        MenuItem("Sales", "bar_chart", 16, gettext_lazy("Refund report")),
        "refunds_refund_report",
        lambda request: has_permission(request, REPORT),
        pgettext_lazy("search", "returns, money back, statistics, analytics, figures"),
    )
)


class RefundReportForm(SalesReportForm):
    earliest = date(1970, 1, 2)
    no_rows = gettext_lazy("There are no refunds in this period. Enter different dates.")

    step = forms.ChoiceField(
        label=gettext_lazy("Group by"),
        choices=[("day", gettext_lazy("Day")), ("week", gettext_lazy("Week")), ("month", gettext_lazy("Month"))],
        widget=forms.Select(attrs={"class": "bo-input"}),
    )

    def get_length_error(self, days: int) -> str:
        step = self.cleaned_data["step"]
        if days < refund_report.MAX_DAYS[step]:
            return ""
        if step == "day":
            return _("Enter a shorter period. A report by day covers at most one year.")
        return _("Enter a shorter period. A report covers at most five years.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RefundReportTable(ReportTable):
    name: str


_TABLES: dict[str, tuple[str, str, Callable[[RefundReportRange], list[RefundReportRow]]]] = {
    "periods": (gettext_noop("By period"), gettext_noop("Period"), refund_report.get_refunds_by_period),
    "reasons": (gettext_noop("By reason"), gettext_noop("Reason"), refund_report.get_refunds_by_reason),
    "products": (gettext_noop("By product"), gettext_noop("Product"), refund_report.get_refunds_by_product),
}


def report_view(request: HttpRequest, base: Context) -> HttpResponse:
    """Return the report page. ``base`` is the template context shared by all admin pages."""
    require_permission(request, REPORT)
    form = RefundReportForm.from_query(request, step="day")
    context: Context = {"form": form}
    if form.is_valid():
        span, currency = RefundReportRange(**form.cleaned_data), get_current_shop().currency
        rows_by_table = {name: rows(span) for name, (_title, _first, rows) in _TABLES.items()}
        bars = [
            (row.amount, f"{_format_row_name(row, span)}: {formats.format_amount(row.amount, currency)}")
            for row in rows_by_table["periods"]
        ]
        total = refund_report.get_refund_totals(span)
        context |= {
            "total": total,
            "money": formats.format_money(total.amount, currency),
            "currency": currency,
            "tables": [_build_table(name, rows, span, currency) for name, rows in rows_by_table.items()],
            "bars": build_bars(bars),
            "ends": (formats.format_date(span.first, "j M Y"), formats.format_date(span.last, "j M Y")),
            "query": request.GET.urlencode(),
        }
    return TemplateResponse(request, "panel/refunds/report.html", {**base, "title": _("Refund report"), **context})


def file_view(request: HttpRequest) -> HttpResponse:
    """Return the table that the query parameter ``table`` selects, as CSV."""
    require_permission(request, REPORT)
    form, table = RefundReportForm.from_query(request, step="day"), request.GET.get("table", "periods")
    if table not in _TABLES or not form.is_valid():
        raise Http404("Unknown report")
    span, currency = RefundReportRange(**form.cleaned_data), get_current_shop().currency
    _title, first, rows = _TABLES[table]
    columns = (first, "Refunds", "Units", f"Money ({currency})")
    cells = (
        (
            row.name.isoformat() if isinstance(row.name, date) else row.name,
            row.refunds,
            row.quantity,
            format_decimal(row.amount, currency),
        )
        for row in rows(span)
    )
    return render_csv(f"refunds-{table}-{span.first:%Y-%m-%d}-{span.last:%Y-%m-%d}.csv", columns, cells)


def _format_row_name(row: RefundReportRow, span: RefundReportRange) -> str:
    return format_period(row.name, span) if isinstance(row.name, date) else row.name


def format_period(first: date, span: RefundReportRange) -> str:
    """Return the name of a period that begins with the given day."""
    if span.step == "month":
        return date_format(first, "F Y")
    day = formats.format_date(first, "j M Y")
    return _("Week of {day}").format(day=day) if span.step == "week" else day


def _build_table(
    name: str, rows: Sequence[RefundReportRow], span: RefundReportRange, currency: str
) -> RefundReportTable:
    title, first, _rows = _TABLES[name]
    # The number of periods is limited, so all periods with refunds are shown, latest first.
    visible_rows = [row for row in reversed(rows) if row.refunds] if name == "periods" else list(rows[:MAX_ROWS])
    cells = [
        (_format_row_name(row, span), row.refunds, row.quantity, formats.format_amount(row.amount, currency))
        for row in visible_rows
    ]
    return RefundReportTable(
        name=name,
        title=_(title),
        columns=(_(first), _("Refunds"), _("Items"), currency),
        rows=cells,
        more=len(rows) - MAX_ROWS if name != "periods" else 0,
    )
