"""The ledger on the page of a gift card."""

from collections.abc import Iterable

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from apps.core.admin.display.report_tables import ReportTable
from apps.core.i18n import formats
from apps.gift_cards.models import GiftCard, GiftCardAdjustment

ROWS_PER_PAGE = 100


def get_ledger_rows(card: GiftCard) -> QuerySet[GiftCardAdjustment]:
    """Return the rows of the ledger, newest first."""
    return card.adjustments.select_related("app").order_by("-number")


def build_ledger(card: GiftCard, rows: Iterable[GiftCardAdjustment]) -> ReportTable:
    """Return rows of the card's ledger as a table."""
    return ReportTable(
        title=_("Ledger"),
        columns=(
            _("Date"),
            _("Reason"),
            _("App"),
            _("Amount ({currency})").format(currency=card.currency),
            _("Balance ({currency})").format(currency=card.currency),
        ),
        text_columns=3,
        rows=[
            (
                formats.format_date(row.created_at, "j M Y, H:i"),
                _describe(row),
                row.app.name if row.app else "–",
                formats.format_amount(row.amount, card.currency),
                formats.format_amount(row.balance, card.currency),
            )
            for row in rows
        ],
    )


def _describe(row: GiftCardAdjustment) -> str:
    return _("Initial value") if row.number == 1 else row.note or row.remote_transaction_ref or "–"
