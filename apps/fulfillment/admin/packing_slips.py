"""Packing slips: printed pages without prices, for fulfillment orders or finished fulfillments."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from apps.core.admin.model_admin.extra_views import ExtraViewsAdmin, extra_view
from apps.core.i18n.formats import lowercase_label
from apps.fulfillment.admin.fulfill_form import get_row_or_404
from apps.fulfillment.admin.fulfillment_detail import FINAL_STATUSES, get_fulfillment_url
from apps.fulfillment.admin.fulfillment_order_cards import FulfillmentOrderCard, load_cards
from apps.fulfillment.admin.permissions import CHANGE, VIEW
from apps.fulfillment.models import Fulfillment, FulfillmentLine, FulfillmentOrder
from apps.inventory.models import Location
from apps.orders.admin.page_context import format_address
from apps.orders.models import LineItem, Order
from apps.shops.domain.countries import localize_country, localize_province

# The maximum number of slips equals the page size of the fulfillment queue.
MAX_SLIPS = 100


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


def _create_order_slip(block: FulfillmentOrderCard) -> PackingSlip:
    """Build the slip of a fulfillment order: open items, or fulfilled items if the fulfillment order is finished."""
    row = block.row
    quantity_field = "fulfillable_quantity" if row.is_unfinished else "fulfilled_quantity"
    counts = [(line.line_item, getattr(line, quantity_field)) for line in block.lines]
    lines = [(item, count) for item, count in counts if count]
    return PackingSlip(
        row.order,
        _("No. {number}").format(number=row.pk),
        _format_location(row.assigned_location),
        row.presented_name,
        lines,
    )


def _create_fulfillment_slip(row: Fulfillment, lines: Iterable[FulfillmentLine]) -> PackingSlip:
    """Build the slip of a fulfillment. Quantities from several fulfillment orders are summed per line item."""
    counts: dict[LineItem, int] = {}
    shipping_methods: list[str] = []
    for line in lines:
        counts[line.line_item] = counts.get(line.line_item, 0) + line.quantity
        shipping_methods.append(line.fulfillment_order.presented_name)
    return PackingSlip(
        row.order,
        _("Fulfillment {name}").format(name=row),
        _format_origin(row.origin_address) or _format_location(row.location),
        next(filter(None, shipping_methods), ""),
        list(counts.items()),
        row.tracking_company,
        tuple(row.tracking_numbers),
    )


def _format_location(location: Location) -> list[str]:
    city = " ".join(filter(None, (location.zip, location.city)))
    province = localize_province(location.country_code, location.province)
    parts = (
        location.name,
        location.address1,
        location.address2,
        city,
        province,
        localize_country(location.country_code),
    )
    return [part for part in parts if part]


def _format_origin(address: dict[str, str | None] | None) -> list[str]:
    """Format the address that a fulfillment was shipped from, if it differs from the location."""

    def part(name: str) -> str:
        return (address or {}).get(name) or ""

    city = " ".join(filter(None, (part("zip"), part("city"))))
    country = localize_country(part("country_code"))
    parts = (part("address1"), part("address2"), city, part("province_code"), country)
    return [line for line in parts if line]


class PackingSlipPages(ExtraViewsAdmin[FulfillmentOrder]):
    @extra_view("<path:object_id>/slip/", VIEW, CHANGE, name="slip")
    def packing_slip_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._render_orders(request, [get_row_or_404(FulfillmentOrder.rows(), object_id).pk])

    @extra_view("fulfillments/<path:object_id>/slip/", VIEW, CHANGE, name="parcel_slip")
    def fulfillment_packing_slip_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        row = get_row_or_404(Fulfillment.rows().select_related("order", "location"), object_id)
        if row.status in FINAL_STATUSES:
            self.message_user(
                request,
                _("{name} has no packing slip. Status: {status}.").format(
                    name=row, status=lowercase_label(row.get_status_display())
                ),
                messages.ERROR,
            )
            return HttpResponseRedirect(get_fulfillment_url(row))
        lines = FulfillmentLine.rows().filter(fulfillment=row).select_related("line_item", "fulfillment_order")
        slip = _create_fulfillment_slip(row, lines.order_by("pk"))
        return self._render_slips(
            request, [slip], _("Back to order {order}").format(order=row.order), get_fulfillment_url(row)
        )

    @extra_view("slips/", VIEW, CHANGE, name="slips")
    def packing_slips_view(self, request: HttpRequest) -> HttpResponse:
        """Show the packing slips for the ids in the query string, in the given order."""
        ids = [part for part in request.GET.get("ids", "").split(",") if part.isdecimal() and len(part) <= 18]
        if not ids:
            self.message_user(request, _("Select the fulfillment orders to print packing slips for."), messages.WARNING)
            return HttpResponseRedirect(self.url("changelist"))
        return self._render_orders(request, list(dict.fromkeys(map(int, ids)))[:MAX_SLIPS])

    def _render_orders(self, request: HttpRequest, pks: list[int]) -> HttpResponse:
        rows = FulfillmentOrder.rows().filter(pk__in=pks).select_related("order", "assigned_location")
        blocks = sorted(load_cards(rows), key=lambda block: pks.index(block.row.pk))
        slips = [slip for slip in map(_create_order_slip, blocks) if slip.lines]
        return self._render_slips(request, slips, _("Back to fulfillment orders"), self.url("changelist"))

    def _render_slips(self, request: HttpRequest, slips: list[PackingSlip], back: str, back_url: str) -> HttpResponse:
        context = {
            "title": _("Packing slips") if len(slips) > 1 else _("Packing slip"),
            "slips": slips,
            "shop": self.shop(request),
            "back": back,
            "back_url": back_url,
        }
        return TemplateResponse(request, "panel/fulfillment/packing_slips.html", context)
