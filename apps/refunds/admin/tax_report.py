"""The tax report by rate, region and period: tables and CSV files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy

from apps.core.admin.display.report_tables import NamedTable, build_header, build_table
from apps.core.admin.menu import MenuItem, Page, pages
from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import Context
from apps.core.i18n import formats
from apps.core.money import format_decimal, format_plain
from apps.refunds.admin.messages import format_tax_rate
from apps.refunds.admin.report_pages import REPORT, RefundReportForm, ReportPage, format_period
from apps.refunds.domain import tax_report
from apps.refunds.domain.refund_report import RefundReportRange
from apps.refunds.domain.tax_report import TaxAmounts, TaxKey
from apps.shops.domain.countries import localize_country, localize_province

pages.add(
    Page(
        MenuItem("Reports", "percent", 32, gettext_lazy("Tax report")),
        "refunds_refund_taxes",
        lambda request: has_permission(request, REPORT),
        pgettext_lazy("search", "rates, vat report, vat return, sales tax report, gst, bookkeeping, accounting"),
    )
)
_AMOUNTS = (gettext_noop("Sales ({currency})"), gettext_noop("Refunds ({currency})"), gettext_noop("Net ({currency})"))


class TaxReportForm(RefundReportForm):
    no_rows = gettext_lazy("There are no taxes in this period. Enter different dates.")


@dataclass(frozen=True, slots=True)
class _Column:
    """A column that describes a tax. ``format`` is for people; the file has the value itself."""

    label: str
    get: Callable[[TaxKey], object]
    format: Callable[[TaxKey, RefundReportRange], str]


_PERIOD = _Column(gettext_noop("Period"), lambda tax: tax.period, lambda tax, span: format_period(tax.period, span))
_COUNTRY = _Column(
    gettext_noop("Country"), lambda tax: tax.country, lambda tax, _span: _format_country(tax.country) or _("No address")
)
_PROVINCE = _Column(
    gettext_noop("Province"),
    lambda tax: tax.province,
    lambda tax, _span: localize_province(tax.country, tax.province) or "–",
)
_TITLE = _Column(gettext_noop("Tax"), lambda tax: tax.title, lambda tax, _span: tax.title)
_RATE = _Column(gettext_noop("Rate (%)"), lambda tax: tax.rate, lambda tax, _span: format_tax_rate(tax.rate))
# Tables are sorted by the names of countries and provinces, and by the values of the other columns.
_REGION = (_COUNTRY, _PROVINCE)
# The title and the columns of each table, keyed by name.
_TABLES: Mapping[str, tuple[str, Sequence[_Column]]] = {
    "rates": (gettext_noop("By rate"), (_TITLE, _RATE)),
    "regions": (gettext_noop("By country and province"), (_COUNTRY, _PROVINCE, _TITLE, _RATE)),
    "periods": (gettext_noop("By period"), (_PERIOD, _TITLE, _RATE)),
    "details": (
        gettext_noop("By period, country and province"),
        (_PERIOD, _COUNTRY, _PROVINCE, _TITLE, _RATE),
    ),
}
_Taxes = Mapping[TaxKey, TaxAmounts]


class TaxReport(ReportPage):
    form = TaxReportForm
    step = "month"
    title = gettext_lazy("Tax report")
    template = "panel/refunds/tax_report.html"
    file_view, file_prefix = "admin:refunds_refund_taxes_file", "taxes"
    tables, default_table = _TABLES, "details"
    no_rows = gettext_lazy("No taxes in this period.")

    def build_context(self, span: RefundReportRange, currency: str) -> Context:
        taxes = tax_report.get_taxes(span)
        total = sum(taxes.values(), TaxAmounts())
        other_orders, other_refunds = tax_report.count_other_currencies(span)
        return {
            "sales": formats.format_money(total.sales, currency),
            "refunded": formats.format_money(total.refunds, currency),
            "net": formats.format_money(total.net, currency),
            "other_orders": other_orders,
            "other_refunds": other_refunds,
            "tables": [_build_table(name, taxes, span, currency) for name in _TABLES],
        }

    def build_file(
        self, name: str, span: RefundReportRange, currency: str
    ) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        _title, columns = _TABLES[name]
        rows = (
            [*(_get_cell(column, tax) for column in columns), *_format_amounts(amounts, currency, format_decimal)]
            for tax, amounts in _group(tax_report.get_taxes(span), columns)
        )
        return build_header(_get_labels(columns), currency), rows


tax_report_page = TaxReport()


def _build_table(name: str, taxes: _Taxes, span: RefundReportRange, currency: str) -> NamedTable:
    title, columns = _TABLES[name]
    rows = sorted(
        _group(taxes, columns),
        key=lambda row: [
            column.format(row[0], span) if column in _REGION else column.get(row[0]) for column in columns
        ],
    )
    return build_table(
        name,
        title,
        _get_labels(columns),
        rows,
        format_row=lambda row: (
            *(column.format(row[0], span) for column in columns),
            *_format_amounts(row[1], currency, formats.format_amount),
        ),
        currency=currency,
        text_columns=len(columns),
    )


def _get_labels(columns: Sequence[_Column]) -> list[str]:
    return [*(column.label for column in columns), *_AMOUNTS]


def _group(taxes: _Taxes, columns: Sequence[_Column]) -> list[tuple[TaxKey, TaxAmounts]]:
    """Add up the taxes with the same values in the columns. The other values of the returned keys are any of theirs."""
    keys = {tuple(column.get(tax) for column in columns): tax for tax in taxes}
    groups = tax_report.group_taxes(taxes, lambda tax: tuple(column.get(tax) for column in columns))
    return [(keys[key], amounts) for key, amounts in groups]


def _get_cell(column: _Column, tax: TaxKey) -> object:
    value = column.get(tax)
    if isinstance(value, Decimal):
        return format_plain(value * 100)
    return value.isoformat() if isinstance(value, date) else value


def _format_amounts(amounts: TaxAmounts, currency: str, write: Callable[[Decimal, str], str]) -> Iterable[str]:
    return (write(amount, currency) for amount in (amounts.sales, amounts.refunds, amounts.net))


def _format_country(country: str) -> str:
    return localize_country(country if len(country) == 2 else "", country)
