"""The ledger on the page of a gift card."""

from collections.abc import Iterable, Mapping

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _

from apps.core.admin.display.report_tables import ReportTable
from apps.core.i18n import formats
from apps.core.tenancy.actor_names import get_actor_names
from apps.gift_cards.models import GiftCard, GiftCardAdjustment

ROWS_PER_PAGE = 100


def get_ledger_rows(card: GiftCard) -> QuerySet[GiftCardAdjustment]:
    """Return the rows of the ledger, newest first."""
    return card.adjustments.select_related("app", "transaction__order").order_by("-number")


def build_ledger(card: GiftCard, rows: Iterable[GiftCardAdjustment], *, links_orders: bool) -> ReportTable:
    """Return rows of the card's ledger as a table."""
    rows = list(rows)
    names = get_actor_names([f"staff:{row.user_id}" for row in rows if row.user_id is not None])
    return ReportTable(
        title=_("Ledger"),
        columns=(
            _("Date"),
            _("Reason"),
            _("Order or staff"),
            _("Amount ({currency})").format(currency=card.currency),
            _("Balance ({currency})").format(currency=card.currency),
        ),
        text_columns=3,
        rows=[
            (
                formats.format_date(row.created_at, "j M Y, H:i"),
                _describe(row),
                _describe_origin(row, names, links_orders=links_orders),
                formats.format_amount(row.amount, card.currency),
                formats.format_amount(row.balance, card.currency),
            )
            for row in rows
        ],
    )


def _describe_origin(row: GiftCardAdjustment, names: Mapping[str, str], *, links_orders: bool) -> str:
    """Return the order of a payment or refund, or else the staff member or the app of an adjustment."""
    if row.transaction is not None and links_orders:
        url = reverse("admin:orders_order_change", args=[row.transaction.order_id])
        return format_html('<a href="{}">{}</a>', url, row.transaction.order.name)
    if row.user_id is not None:
        return names[f"staff:{row.user_id}"]
    return row.app.name if row.app else "–"


def _describe(row: GiftCardAdjustment) -> str:
    return _("Initial value") if row.number == 1 else row.note or row.remote_transaction_ref or "–"
