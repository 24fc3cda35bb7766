"""Load packing slips and return slips of orders. Both show the current data and have no number."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils import translation

from apps.core.tenancy.models import Shop
from apps.documents.domain.snapshots import choose_language
from apps.documents.models import DocumentSettings
from apps.fulfillment.domain.packing_slips import PackingSlip, create_order_slip, format_location
from apps.fulfillment.models import FulfillmentOrder
from apps.inventory.domain.stock import get_primary_location
from apps.orders.models import LineItem, Order
from apps.shops.domain.address_formats import format_address


@dataclass(frozen=True, slots=True)
class Slip:
    """A slip in the language of its document. ``return_to`` is only set for return slips."""

    order: Order
    language: str
    sender: Sequence[str]
    recipient: Sequence[str]
    items: Sequence[tuple[LineItem, int]]
    shipping_method: str = ""
    return_to: Sequence[str] = ()


def load_packing_slips(order_ids: Iterable[int], shop: Shop, settings: DocumentSettings) -> list[Slip]:
    """Return a slip for each fulfillment order with items to pack or packed items, in the sequence of ``order_ids``."""
    positions = {pk: position for position, pk in enumerate(order_ids)}
    rows = (
        FulfillmentOrder.objects.filter(order__in=positions)
        .select_related("order", "assigned_location")
        .prefetch_related("lines__line_item")
    )
    slips = []
    for row in sorted(rows, key=lambda row: (positions[row.order_id], row.pk)):
        language = choose_language(row.order, shop, settings)
        with translation.override(language):
            slip = create_order_slip(row, row.lines.all())
            if slip.lines:
                slips.append(_create_slip(slip, language))
    return slips


def _create_slip(slip: PackingSlip, language: str) -> Slip:
    return Slip(slip.order, language, slip.sender, slip.address, slip.lines, slip.shipping_method)


def load_return_slip(order: Order, shop: Shop, settings: DocumentSettings) -> Slip | None:
    """Return the slip for the items that the customer has, or None if the customer has none."""
    lines = LineItem.objects.filter(order=order).order_by("position", "pk")
    items = [(line, line.quantity_at_customer) for line in lines if line.quantity_at_customer]
    if not items:
        return None
    language = choose_language(order, shop, settings)
    with translation.override(language):
        customer = format_address(order.shipping_address or order.billing_address or {})
        return_to = [shop.name, *format_location(get_primary_location())[1:]]
        return Slip(order, language, [shop.name], customer, items, return_to=return_to)
