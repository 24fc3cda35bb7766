"""Packing slips: printed pages without prices, for fulfillment orders or finished fulfillments."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from apps.core.admin.lists.row_ids import parse_ids
from apps.core.admin.model_admin.extra_views import ExtraViewsAdmin, extra_view
from apps.core.i18n.formats import lowercase_label
from apps.fulfillment.admin.fulfill_form import get_row_or_404
from apps.fulfillment.admin.fulfillment_detail import FINAL_STATUSES, get_fulfillment_url
from apps.fulfillment.admin.fulfillment_order_cards import load_cards
from apps.fulfillment.admin.permissions import CHANGE, VIEW
from apps.fulfillment.domain.packing_slips import PackingSlip, create_fulfillment_slip, create_order_slip
from apps.fulfillment.models import Fulfillment, FulfillmentLine, FulfillmentOrder

# The maximum number of slips equals the page size of the fulfillment queue.
MAX_SLIPS = 100


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
        slip = create_fulfillment_slip(row, lines.order_by("pk"))
        return self._render_slips(
            request, [slip], _("Back to order {order}").format(order=row.order), get_fulfillment_url(row)
        )

    @extra_view("slips/", VIEW, CHANGE, name="slips")
    def packing_slips_view(self, request: HttpRequest) -> HttpResponse:
        """Show the packing slips for the ids in the query string, in the given order, without services."""
        ids = parse_ids(request.GET.get("ids", ""), limit=MAX_SLIPS)
        if not ids:
            self.message_user(request, _("Select the fulfillment orders to print packing slips for."), messages.WARNING)
            return HttpResponseRedirect(self.url("changelist"))
        return self._render_orders(request, ids)

    def _render_orders(self, request: HttpRequest, pks: list[int]) -> HttpResponse:
        rows = FulfillmentOrder.rows().filter(pk__in=pks).exclude(method_type=FulfillmentOrder.Method.NONE)
        rows = rows.select_related("order", "assigned_location")
        if not rows and FulfillmentOrder.rows().filter(pk__in=pks).exists():
            message = _("There is no packing slip, because there is nothing to ship.")
            self.message_user(request, message, messages.WARNING)
            return HttpResponseRedirect(self.url("changelist"))
        blocks = sorted(load_cards(rows), key=lambda block: pks.index(block.row.pk))
        slips = [slip for block in blocks if (slip := create_order_slip(block.row, block.lines)).lines]
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
