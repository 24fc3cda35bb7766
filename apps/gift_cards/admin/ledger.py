"""The ledger on the page of a gift card."""

from django.utils.translation import gettext as _

from apps.core.admin.display.report_tables import ReportTable
from apps.core.i18n import formats
from apps.gift_cards.models import GiftCard, GiftCardAdjustment

_MAX_ROWS = 200


def build_ledger(card: GiftCard) -> ReportTable:
    """Return the latest rows of the ledger, newest first, as a table."""
    rows = card.adjustments.select_related("app").order_by("-number")[:_MAX_ROWS]
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
