"""The report on gift cards: the outstanding liability by currency, and the changes by period."""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy

from apps.core.admin.menu import MenuItem, Page, pages
from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import Context
from apps.core.i18n import formats
from apps.core.money import format_decimal
from apps.gift_cards.domain import liability_report
from apps.gift_cards.domain.liability_report import Liability, Movements
from apps.refunds.admin.report_pages import REPORT, NamedTable, RefundReportForm, ReportPage, format_period
from apps.refunds.domain.refund_report import RefundReportRange

pages.add(
    Page(
        MenuItem("Sales", "bar_chart", 19, gettext_lazy("Gift card report")),
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
        periods = [
            (format_period(period, span), code, row.cards, *_format_movements(row, code, formats.format_amount))
            for period, code, row in reversed(liability_report.get_movements_by_period(span))
        ]
        liability_rows = [_format_liability(code, row, formats.format_amount) for code, row in liabilities.items()]
        return {
            "outstanding": formats.format_money(liabilities[currency].closing, currency),
            "last_day": formats.format_date(span.last, "j M Y"),
            "tables": [_build_table("liability", liability_rows, 1), _build_table("periods", periods, 2)],
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


def _build_table(name: str, rows: Sequence[Sequence[object]], text_columns: int) -> NamedTable:
    title, columns = _TABLES[name]
    labels = [_(column) for column in columns]
    return NamedTable(name=name, title=_(title), columns=labels, rows=rows, text_columns=text_columns)


def _format_movements(row: Movements, currency: str, write: _Format) -> tuple[str, ...]:
    return tuple(write(amount, currency) for amount in (row.issued, row.added, row.subtracted))


def _format_liability(currency: str, row: Liability, write: _Format) -> tuple[object, ...]:
    ends = (write(amount, currency) for amount in (row.disabled, row.expired, row.closing))
    return currency, write(row.opening, currency), *_format_movements(row.movements, currency, write), *ends
