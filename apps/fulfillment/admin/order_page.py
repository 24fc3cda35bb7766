"""Fulfillment cards and timeline entries on the order page."""

from django.http import HttpRequest
from django_stubs_ext import StrOrPromise

from apps.fulfillment.admin.actions import ACTIONS
from apps.fulfillment.admin.fulfillment_detail import ACTIONS as PARCEL_DOINGS
from apps.fulfillment.admin.fulfillment_detail import get_fulfillment_cards
from apps.fulfillment.admin.fulfillment_order_cards import FulfillmentOrderCard, get_order_cards
from apps.fulfillment.admin.permissions import CHANGE, VIEW
from apps.fulfillment.admin.timeline import get_timeline_events
from apps.fulfillment.domain.states import Action, Side
from apps.orders.admin.extension_points import OrderSection, add_order_section, add_timeline_source
from apps.orders.models import Order
from apps.panel.permissions import has_permission
from apps.panel.staff_request import Context


def _get_buttons(block: FulfillmentOrderCard, side: Side) -> list[tuple[Action, StrOrPromise, str]]:
    return [(action, ACTIONS[action].label, ACTIONS[action].kind) for action in block.get_actions(side)]


def _get_fulfillment_order_context(request: HttpRequest, order: Order) -> Context | None:
    if not has_permission(request, VIEW):
        return None
    blocks = get_order_cards(order)
    may_change = has_permission(request, CHANGE)
    return {
        "blocks": [
            {
                "block": block,
                "merchant": _get_buttons(block, Side.MERCHANT) if may_change else [],
                "worker": _get_buttons(block, Side.WORKER) if may_change else [],
            }
            for block in blocks
        ],
        "is_fulfillable": may_change and any(block.is_fulfillable for block in blocks),
        "may_change": may_change,
    }


def _get_fulfillment_context(request: HttpRequest, order: Order) -> Context | None:
    cards = get_fulfillment_cards(order) if has_permission(request, VIEW) else []
    if not cards:
        return None
    return {"parcels": cards, "doings": PARCEL_DOINGS.items() if has_permission(request, CHANGE) else ()}


add_order_section(OrderSection("panel/fulfillment/fulfillment_orders.html", _get_fulfillment_order_context, order=10))
add_order_section(OrderSection("panel/fulfillment/fulfillments.html", _get_fulfillment_context, order=11))
add_timeline_source(get_timeline_events)
