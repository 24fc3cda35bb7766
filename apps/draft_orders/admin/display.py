"""Format draft orders for display: lines, totals, customer and timeline."""

from collections.abc import Sequence
from decimal import Decimal

from django.db.models import prefetch_related_objects
from django.utils.translation import gettext as _

from apps.core.admin.display.changes import RowLink
from apps.core.events.timelines import describe_event, get_latest_events
from apps.core.i18n import formats
from apps.core.types import Attrs
from apps.draft_orders.models import DraftOrder, DraftOrderLine
from apps.orders.admin.extension_points import MAX_EVENTS
from apps.orders.admin.page_context import TimelineItem, describe_timeline, get_thumbnails
from apps.shops.domain.address_formats import format_address


def describe_lines(draft: DraftOrder, lines: Sequence[DraftOrderLine]) -> list[Attrs]:
    prefetch_related_objects(lines, "variant")
    names, thumbnails = ("price", "gross_price", "net_price"), get_thumbnails(lines)
    return [
        {"row": line, "thumbnail": thumbnails[line.pk]}
        | {name: format_amount(draft, getattr(line, name)) for name in names}
        for line in lines
    ]


def describe_totals(draft: DraftOrder) -> list[tuple[str, str]]:
    """Return the totals with labels. Optional rows with a zero amount are omitted."""
    rows: list[tuple[str, Decimal, bool]] = [
        (_("Subtotal"), draft.total_line_items_price, True),
        (_("Discounts"), -draft.total_discounts, False),
        (_("Shipping"), draft.total_shipping_price, draft.shipping_line is not None),
        (_("Tax (included)") if draft.taxes_included else _("Tax"), draft.total_tax, True),
    ]
    return [(label, format_amount(draft, amount)) for label, amount, is_shown in rows if is_shown or amount]


def format_amount(draft: DraftOrder, amount: Decimal) -> str:
    return formats.format_money(amount, draft.currency)


def describe_facts(draft: DraftOrder) -> list[tuple[str, str]]:
    addresses = draft.shipping_address, draft.billing_address
    shipping, billing = ("\n".join(format_address(row or {})) for row in addresses)
    return [
        (_("Name"), str(draft.customer or _("No customer"))),
        (_("Email"), draft.email or "–"),
        (_("Shipping address"), shipping or _("No address")),
        *([(_("Billing address"), billing)] if billing != shipping else []),
        (_("Shipping method"), draft.shipping_line["title"] if draft.shipping_line else "–"),
        (_("Note"), draft.note or "–"),
        (_("Tags"), draft.tags or "–"),
    ]


def get_timeline(draft: DraftOrder, *, order_url: str) -> list[TimelineItem]:
    """Return the timeline. ``order_url`` is empty if the user may not open the order."""
    entries = [(event, describe_event(event)) for event in get_latest_events(draft, MAX_EVENTS)]
    links = {("order_id", draft.order_id): RowLink(str(draft.order), order_url)} if draft.order_id else {}
    return describe_timeline(entries, links=links)
