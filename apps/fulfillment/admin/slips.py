"""Packing slips: what goes into parcels, or lies in one that was sent, for whom; on paper, without prices."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern
from django.utils.translation import gettext as _

from apps.fulfillment.admin.access import CHANGE, VIEW
from apps.fulfillment.admin.blocks import Block, filled
from apps.fulfillment.admin.finding import row_or_404
from apps.fulfillment.admin.parcels import ENDED, parcel_page
from apps.fulfillment.models import Fulfillment, FulfillmentLine, FulfillmentOrder
from apps.ground.languages import lowered
from apps.inventory.models import Location
from apps.orders.admin.story import written_address
from apps.orders.models import LineItem, Order
from apps.panel.access import require
from apps.panel.screens.pages import ScreenPages
from apps.shops.domain.countries import told_country, told_province

# As many as a page of the work list has.
MOST = 100


@dataclass(frozen=True, slots=True)
class Slip:
    """One sheet.

    Attributes:
        order: Whose units they are.
        name: Of the fulfillment order, or of the parcel.
        sender: Where it comes from, line by line.
        way: How it is sent; blank where nobody said.
        lines: Lines of the order, with how many units lie in it.
        carrier: Who brings it; blank where nobody said.
        numbers: By which it is followed.
    """

    order: Order
    name: str
    sender: list[str]
    way: str
    lines: list[tuple[LineItem, int]]
    carrier: str = ""
    numbers: tuple[str, ...] = ()

    @property
    def units(self) -> int:
        """How many units lie in it."""
        return sum(count for _item, count in self.lines)

    @property
    def address(self) -> list[str]:
        """Where it goes, line by line."""
        return written_address(self.order.shipping_address or {})


def _of_work(block: Block) -> Slip:
    """Units that are yet to be sent; of finished work those that were."""
    row = block.row
    name = "fulfillable_quantity" if row.is_unfinished else "fulfilled_quantity"
    counts = [(line.line_item, getattr(line, name)) for line in block.lines]
    lines = [(item, count) for item, count in counts if count]
    return Slip(
        row.order, _("No. {number}").format(number=row.pk), _place(row.assigned_location), row.presented_name, lines
    )


def _of_parcel(row: Fulfillment, lines: Iterable[FulfillmentLine]) -> Slip:
    """What was sent together; a line of the order stands once, whichever fulfillment orders its units were of."""
    counts: dict[LineItem, int] = {}
    ways: list[str] = []
    for line in lines:
        counts[line.line_item] = counts.get(line.line_item, 0) + line.quantity
        ways.append(line.fulfillment_order.presented_name)
    return Slip(
        row.order,
        _("Parcel {name}").format(name=row),
        _origin(row.origin_address) or _place(row.location),
        next(filter(None, ways), ""),
        list(counts.items()),
        row.tracking_company,
        tuple(row.tracking_numbers),
    )


def _place(place: Location) -> list[str]:
    """A location's name and address, line by line."""
    town = " ".join(filter(None, (place.zip, place.city)))
    province = told_province(place.country_code, place.province)
    parts = (place.name, place.address1, place.address2, town, province, told_country(place.country_code))
    return [part for part in parts if part]


def _origin(address: dict[str, str | None] | None) -> list[str]:
    """Where a parcel started, if that was not its location."""

    def part(name: str) -> str:
        return (address or {}).get(name) or ""

    town = " ".join(filter(None, (part("zip"), part("city"))))
    country = told_country(part("country_code"))
    parts = (part("address1"), part("address2"), town, part("province_code"), country)
    return [each for each in parts if each]


class Slips(ScreenPages[FulfillmentOrder]):
    """The pages that are printed, for the screen of fulfillment orders."""

    def slip_urls(self) -> list[URLPattern]:
        """One sheet, many, and that of a parcel."""
        return [
            self.action_url("slips/", self.slips_view, "slips"),
            self.action_url("fulfillments/<path:object_id>/slip/", self.parcel_slip_view, "parcel_slip"),
            self.action_url("<path:object_id>/slip/", self.slip_view, "slip"),
        ]

    def slip_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The sheet of one fulfillment order."""
        require(request, VIEW, CHANGE)
        return self._work(request, [row_or_404(FulfillmentOrder.rows(), object_id).pk])

    def parcel_slip_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The sheet of what was sent together."""
        require(request, VIEW, CHANGE)
        row = row_or_404(Fulfillment.rows().select_related("order", "location"), object_id)
        if row.status in ENDED:
            self.message_user(
                request,
                _("{name} is {status}.").format(name=row, status=lowered(row.get_status_display())),
                messages.ERROR,
            )
            return HttpResponseRedirect(parcel_page(row))
        lines = FulfillmentLine.rows().filter(fulfillment=row).select_related("line_item", "fulfillment_order")
        slip = _of_parcel(row, lines.order_by("pk"))
        return self._sheets(request, [slip], _("Back to order {order}").format(order=row.order), parcel_page(row))

    def slips_view(self, request: HttpRequest) -> HttpResponse:
        """The sheets of those that the address names, in its order."""
        require(request, VIEW, CHANGE)
        given = [part for part in request.GET.get("ids", "").split(",") if part.isdecimal() and len(part) <= 18]
        if not given:
            self.message_user(request, _("Choose first what to print packing slips for."), messages.WARNING)
            return HttpResponseRedirect(self.url("changelist"))
        return self._work(request, list(dict.fromkeys(map(int, given)))[:MOST])

    def _work(self, request: HttpRequest, pks: list[int]) -> HttpResponse:
        rows = FulfillmentOrder.rows().filter(pk__in=pks).select_related("order", "assigned_location")
        blocks = sorted(filled(rows), key=lambda block: pks.index(block.row.pk))
        slips = [slip for slip in map(_of_work, blocks) if slip.lines]
        return self._sheets(request, slips, _("Back to the work list"), self.url("changelist"))

    def _sheets(self, request: HttpRequest, slips: list[Slip], back: str, back_url: str) -> HttpResponse:
        context = {
            "title": _("Packing slips") if len(slips) > 1 else _("Packing slip"),
            "slips": slips,
            "shop": self.shop(request),
            "back": back,
            "back_url": back_url,
        }
        return TemplateResponse(request, "panel/fulfillment/slips.html", context)
