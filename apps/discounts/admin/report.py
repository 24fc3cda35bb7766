"""The discount report: what each code and each reason gave, and the discounts by period."""

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy

from apps.core.admin.display.report_tables import MAX_ROWS, build_header, build_table
from apps.core.admin.menu import MenuItem, Page, pages
from apps.core.admin.permissions import has_permission
from apps.core.admin.routes import PanelRoute, panel_routes
from apps.core.admin.staff_request import Context
from apps.core.i18n import formats
from apps.core.money import ZERO, format_decimal
from apps.discounts.domain import discount_report
from apps.discounts.domain.discount_report import Discount, DiscountTotals
from apps.orders.domain.sales_report import get_sales_by_day
from apps.refunds.admin.report_pages import REPORT, RefundReportForm, ReportPage, format_period
from apps.refunds.domain.refund_report import RefundReportRange

_KINDS = {
    "manual": gettext_lazy("Manual discount"),
    "automatic": gettext_lazy("Automatic discount"),
    "script": gettext_lazy("Script"),
}
_COUNTS = (gettext_noop("Orders"), gettext_noop("Customers"))
_AMOUNTS = (gettext_noop("Discounts ({currency})"), gettext_noop("Share of sales (%)"))
_KIND, _CODE, _REASON = gettext_noop("Type"), gettext_noop("Code"), gettext_noop("Reason")
# The title and the columns of each table, keyed by name.
_TABLES = {
    "codes": (gettext_noop("By discount code"), (_CODE, *_COUNTS, *_AMOUNTS)),
    "reasons": (gettext_noop("Without a code, by reason"), (_REASON, _KIND, *_COUNTS, *_AMOUNTS)),
    "periods": (
        gettext_noop("By period"),
        (
            gettext_noop("Period"),
            *_COUNTS,
            gettext_noop("With a code ({currency})"),
            gettext_noop("Without a code ({currency})"),
            *_AMOUNTS,
        ),
    ),
    "details": (
        gettext_noop("By period and code or reason"),
        (gettext_noop("Period"), gettext_noop("Code or reason"), _KIND, *_COUNTS, *_AMOUNTS),
    ),
}
_TEXT_COLUMNS = {"reasons": 2, "details": 3}
_Detail = tuple[date, Discount, DiscountTotals]


class _Formats(NamedTuple):
    """The functions that format amounts and numbers, for people or for a file."""

    amount: Callable[[Decimal, str], str]
    number: Callable[[str], str]


_PAGE, _FILE = _Formats(formats.format_amount, formats.format_plain_number), _Formats(format_decimal, str)


class DiscountReportForm(RefundReportForm):
    no_rows = gettext_lazy("There are no discounts in this period. Enter different dates.")


class DiscountReport(ReportPage):
    form = DiscountReportForm
    step = "month"
    title = gettext_lazy("Discount report")
    template = "panel/discounts/report.html"
    file_view, file_prefix = "admin:discount_report_file", "discounts"
    tables, default_table = _TABLES, "details"
    no_rows = gettext_lazy("No discounts in this period.")

    def build_context(self, span: RefundReportRange, currency: str) -> Context:
        sales = get_sales_by_day(span)
        discounts = discount_report.get_discounts(span, sales)
        periods = list(reversed(discount_report.get_discounts_by_period(span, sales)))
        details = list(reversed(discount_report.get_discounts_by_period_and_name(span, sales)))

        def format_discount(row: tuple[Discount, DiscountTotals]) -> Sequence[object]:
            return *_format_name(row[0]), *_format_totals(row[1], currency, _PAGE)

        def format_detail(row: _Detail) -> Sequence[object]:
            kind = _("Discount code") if row[1].has_code else _format_name(row[1])[-1]
            name = _format_name(row[1])[0]
            return format_period(row[0], span), name, kind, *_format_totals(row[2], currency, _PAGE)

        rows: dict[str, tuple[Sequence[Any], Callable[[Any], Sequence[object]]]] = {
            "codes": ([row for row in discounts if row[0].has_code], format_discount),
            "reasons": ([row for row in discounts if not row[0].has_code], format_discount),
            "periods": (periods, lambda row: (format_period(row[0], span), *_format_period(row[1], currency, _PAGE))),
            "details": (details, format_detail),
        }
        return {
            "total": formats.format_money(sum((totals.amount for _discount, totals in discounts), ZERO), currency),
            "other_orders": discount_report.count_other_currencies(span),
            "tables": [
                build_table(
                    name,
                    *_TABLES[name],
                    table_rows,
                    format_row=format_row,
                    currency=currency,
                    text_columns=_TEXT_COLUMNS.get(name, 1),
                    limit=None if name == "periods" else MAX_ROWS,
                )
                for name, (table_rows, format_row) in rows.items()
            ],
        }

    def build_file(
        self, name: str, span: RefundReportRange, currency: str
    ) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        return build_header(_TABLES[name][1], currency), _iter_file_rows(name, span, currency)


discount_report_page = DiscountReport()


def _iter_file_rows(name: str, span: RefundReportRange, currency: str) -> Iterable[Sequence[object]]:
    sales = get_sales_by_day(span)
    if name == "periods":
        for period, totals in discount_report.get_discounts_by_period(span, sales):
            yield period.isoformat(), *_format_period(totals, currency, _FILE)
    elif name == "details":
        for period, discount, totals in discount_report.get_discounts_by_period_and_name(span, sales):
            cells = _format_totals(totals, currency, _FILE)
            yield period.isoformat(), discount.name, discount.kind, *cells
    else:
        for discount, totals in discount_report.get_discounts(span, sales):
            if discount.has_code == (name == "codes"):
                names = (discount.name,) if discount.has_code else (discount.name, discount.kind)
                yield *names, *_format_totals(totals, currency, _FILE)


def _format_name(discount: Discount) -> tuple[object, ...]:
    """Return the code, or the reason and the kind of the discount."""
    if discount.has_code:
        return (discount.name,)
    return discount.name or _("No reason given"), _KINDS.get(discount.kind, discount.kind)


def _format_totals(totals: DiscountTotals, currency: str, by: _Formats) -> tuple[object, ...]:
    return totals.orders, totals.customers, by.amount(totals.amount, currency), _format_share(totals, by)


def _format_period(totals: DiscountTotals, currency: str, by: _Formats) -> tuple[object, ...]:
    parts = (totals.with_code, totals.amount - totals.with_code, totals.amount)
    return totals.orders, totals.customers, *(by.amount(part, currency) for part in parts), _format_share(totals, by)


def _format_share(totals: DiscountTotals, by: _Formats) -> str:
    return by.number(f"{totals.share:.1f}")


def _render_page(request: HttpRequest) -> HttpResponse:
    return discount_report_page.render_page(request, admin.site.each_context(request))


panel_routes.add(
    PanelRoute("discount_report", "discounts/report/", _render_page),
    PanelRoute("discount_report_file", "discounts/report/file/", discount_report_page.render_file),
)
pages.add(
    Page(
        MenuItem("Reports", "bar_chart", 33, gettext_lazy("Discount report")),
        "discount_report",
        lambda request: has_permission(request, REPORT),
        pgettext_lazy("search", "discount figures, campaign results, markdowns, price reductions"),
    )
)
