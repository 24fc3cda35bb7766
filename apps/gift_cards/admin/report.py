"""The report on gift cards: the outstanding liability by currency, and the changes by period."""

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from decimal import Decimal

from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy

from apps.core.admin.display.report_tables import build_table
from apps.core.admin.menu import MenuItem, Page, pages
from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import Context
from apps.core.i18n import formats
from apps.core.money import format_decimal
from apps.gift_cards.domain import liability_report
from apps.gift_cards.domain.liability_report import Liability, Movements
from apps.refunds.admin.report_pages import REPORT, RefundReportForm, ReportPage, format_period
from apps.refunds.domain.refund_report import RefundReportRange

pages.add(
    Page(
        MenuItem("Reports", "bar_chart", 34, gettext_lazy("Gift card report")),
        "gift_cards_giftcard_report",
        lambda request: has_permission(request, REPORT),
        pgettext_lazy("search", "liability, outstanding gift cards, voucher report, bookkeeping"),
    )
)
_Format = Callable[[Decimal, str], str]
_MOVEMENTS = (gettext_noop("Issued"), gettext_noop("Added"), gettext_noop("Redeemed"))
# The title and the columns of each table, keyed by name.
_TABLES = {
    "liability": (
        gettext_noop("Outstanding liability by currency"),
        (
            gettext_noop("Currency"),
            gettext_noop("Opening"),
            *_MOVEMENTS,
            gettext_noop("Disabled cards"),
            gettext_noop("Expired cards"),
            gettext_noop("Closing"),
        ),
    ),
    "periods": (
        gettext_noop("Changes by period"),
        (gettext_noop("Period"), gettext_noop("Currency"), gettext_noop("Cards issued"), *_MOVEMENTS),
    ),
}


class GiftCardReportForm(RefundReportForm):
    no_rows = gettext_lazy("There are no gift cards in this period. Enter different dates.")


class GiftCardReport(ReportPage):
    form = GiftCardReportForm
    step = "month"
    title = gettext_lazy("Gift card report")
    template = "panel/gift_cards/report.html"
    file_view, file_prefix = "admin:gift_cards_giftcard_report_file", "gift-cards"
    tables, default_table = _TABLES, "liability"
    no_rows = gettext_lazy("No changes in this period.")

    def build_context(self, span: RefundReportRange, currency: str) -> Context:
        liabilities = liability_report.get_liabilities(span)
        movements = liability_report.get_movements_by_period(span)
        return {
            "outstanding": formats.format_money(liabilities[currency].closing, currency),
            "last_day": formats.format_date(span.last, "j M Y"),
            "tables": [
                build_table(
                    "liability",
                    *_TABLES["liability"],
                    list(liabilities.items()),
                    format_row=lambda row: _format_liability(*row, formats.format_amount),
                    limit=None,
                ),
                build_table(
                    "periods",
                    *_TABLES["periods"],
                    list(reversed(movements)),
                    format_row=lambda row: _format_period(*row, span),
                    text_columns=2,
                    limit=None,
                ),
            ],
        }

    def build_file(
        self, name: str, span: RefundReportRange, currency: str
    ) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        _title, columns = _TABLES[name]
        if name == "liability":
            liabilities = liability_report.get_liabilities(span)
            return columns, [_format_liability(code, row, format_decimal) for code, row in liabilities.items()]
        movements = liability_report.get_movements_by_period(span)
        return columns, [
            (period.isoformat(), code, row.cards, *_format_movements(row, code, format_decimal))
            for period, code, row in movements
        ]


gift_card_report_page = GiftCardReport()


def _format_period(period: date, currency: str, row: Movements, span: RefundReportRange) -> tuple[object, ...]:
    return format_period(period, span), currency, row.cards, *_format_movements(row, currency, formats.format_amount)


def _format_movements(row: Movements, currency: str, write: _Format) -> tuple[str, ...]:
    return tuple(write(amount, currency) for amount in (row.issued, row.added, row.subtracted))


def _format_liability(currency: str, row: Liability, write: _Format) -> tuple[object, ...]:
    ends = (write(amount, currency) for amount in (row.disabled, row.expired, row.closing))
    return currency, write(row.opening, currency), *_format_movements(row.movements, currency, write), *ends
