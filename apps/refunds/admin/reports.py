"""The refund report by period, reason and product: tables, a chart and CSV files."""

from collections.abc import Callable, Iterable, Sequence
from datetime import date

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy

from apps.core.admin.display.charts import build_axes, build_bars
from apps.core.admin.display.report_tables import MAX_ROWS, NamedTable, build_table
from apps.core.admin.menu import MenuItem, Page, pages
from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import Context
from apps.core.i18n import formats
from apps.core.money import format_decimal
from apps.refunds.admin.report_pages import REPORT, ReportPage, format_period
from apps.refunds.domain import refund_report
from apps.refunds.domain.refund_report import RefundReportRange, RefundReportRow

pages.add(
    Page(
        MenuItem("Reports", "bar_chart", 31, gettext_lazy("Refund report")),
        "refunds_refund_report",
        lambda request: has_permission(request, REPORT),
        pgettext_lazy("search", "returns, money back, statistics, analytics, figures"),
    )
)
# The title, the first column and the rows of each table, keyed by name.
_TABLES: dict[str, tuple[str, str, Callable[[RefundReportRange], list[RefundReportRow]]]] = {
    "periods": (gettext_noop("By period"), gettext_noop("Period"), refund_report.get_refunds_by_period),
    "reasons": (gettext_noop("By reason"), gettext_noop("Reason"), refund_report.get_refunds_by_reason),
    "products": (gettext_noop("By product"), gettext_noop("Product"), refund_report.get_refunds_by_product),
}


class RefundReport(ReportPage):
    step = "day"
    title = gettext_lazy("Refund report")
    template = "panel/refunds/report.html"
    file_view, file_prefix = "admin:refunds_refund_report_file", "refunds"
    tables, default_table = _TABLES, "periods"
    no_rows = gettext_lazy("No refunds in this period.")

    def build_context(self, span: RefundReportRange, currency: str) -> Context:
        rows_by_table = {name: rows(span) for name, (_title, _first, rows) in _TABLES.items()}
        bars = [
            (row.amount, f"{_format_row_name(row, span)}: {formats.format_amount(row.amount, currency)}")
            for row in rows_by_table["periods"]
        ]
        total = refund_report.get_refund_totals(span)
        return {
            "total": total,
            "money": formats.format_money(total.amount, currency),
            "tables": [_build_table(name, rows, span, currency) for name, rows in rows_by_table.items()],
            "bars": build_bars(bars),
            "axes": build_axes(
                [row.amount for row in rows_by_table["periods"]],
                lambda value: formats.format_whole_money(value, currency),
                [
                    formats.format_date(row.name, "M Y" if span.step == "month" else "j M")
                    for row in rows_by_table["periods"]
                    if isinstance(row.name, date)
                ],
            ),
        }

    def build_file(
        self, name: str, span: RefundReportRange, currency: str
    ) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        _title, first, rows = _TABLES[name]
        cells = (
            (
                row.name.isoformat() if isinstance(row.name, date) else row.name,
                row.refunds,
                row.quantity,
                format_decimal(row.amount, currency),
            )
            for row in rows(span)
        )
        return (first, "Refunds", "Units", f"Money ({currency})"), cells


refund_report_page = RefundReport()


def _format_row_name(row: RefundReportRow, span: RefundReportRange) -> str:
    return format_period(row.name, span) if isinstance(row.name, date) else row.name


def _build_table(name: str, rows: Sequence[RefundReportRow], span: RefundReportRange, currency: str) -> NamedTable:
    title, first, _rows = _TABLES[name]
    # The number of periods is limited, so all periods with refunds are shown, latest first.
    is_by_period = name == "periods"
    note = _("The amounts are the prices of the refunded items. Shipping and refunds without items are not included.")
    return build_table(
        name,
        title,
        (first, gettext_noop("Refunds"), gettext_noop("Items"), "{currency}"),
        [row for row in reversed(rows) if row.refunds] if is_by_period else rows,
        format_row=lambda row: (
            _format_row_name(row, span),
            row.refunds,
            row.quantity,
            formats.format_amount(row.amount, currency),
        ),
        currency=currency,
        limit=None if is_by_period else MAX_ROWS,
        footer=note if name == "products" else "",
    )
