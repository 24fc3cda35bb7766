"""Packing slips without prices, for fulfillment orders or finished fulfillments, on printed pages and in PDF files."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from apps.fulfillment.models import Fulfillment, FulfillmentLine, FulfillmentOrder, FulfillmentOrderLine
from apps.inventory.models import Location
from apps.orders.models import LineItem, Order
from apps.shops.domain.address_formats import format_address

_LOCATION_FIELDS = ("address1", "address2", "zip", "city", "province", "country_code")


@dataclass(frozen=True, slots=True)
class PackingSlip:
    order: Order
    name: str
    sender: list[str]
    shipping_method: str
    lines: list[tuple[LineItem, int]]
    carrier: str = ""
    numbers: tuple[str, ...] = ()

    @property
    def total_quantity(self) -> int:
        return sum(count for _item, count in self.lines)

    @property
    def address(self) -> list[str]:
        return format_address(self.order.shipping_address or {})


def create_order_slip(row: FulfillmentOrder, order_lines: Iterable[FulfillmentOrderLine]) -> PackingSlip:
    """Build the slip of a fulfillment order: open items, or fulfilled items if the fulfillment order is finished."""
    quantity_field = "fulfillable_quantity" if row.is_unfinished else "fulfilled_quantity"
    counts = [(line.line_item, getattr(line, quantity_field)) for line in order_lines]
    lines = [(item, count) for item, count in counts if count]
    return PackingSlip(
        row.order,
        _("No. {number}").format(number=row.pk),
        format_location(row.assigned_location),
        row.presented_name,
        lines,
    )


def create_fulfillment_slip(row: Fulfillment, lines: Iterable[FulfillmentLine]) -> PackingSlip:
    """Build the slip of a fulfillment. Quantities from several fulfillment orders are summed per line item."""
    counts: dict[LineItem, int] = {}
    shipping_methods: list[str] = []
    for line in lines:
        counts[line.line_item] = counts.get(line.line_item, 0) + line.quantity
        shipping_methods.append(line.fulfillment_order.presented_name)
    return PackingSlip(
        row.order,
        _("Fulfillment {name}").format(name=row),
        format_address(row.origin_address or {}) or format_location(row.location),
        next(filter(None, shipping_methods), ""),
        list(counts.items()),
        row.tracking_company,
        tuple(row.tracking_numbers),
    )


def format_location(location: Location) -> list[str]:
    return [location.name, *format_address({name: getattr(location, name) for name in _LOCATION_FIELDS})]
