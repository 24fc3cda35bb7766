"""Fulfillment on the page of an order: what is to be sent from where, what was sent, and what happened to it."""

from django.http import HttpRequest
from django_stubs_ext import StrOrPromise

from apps.fulfillment.admin.access import CHANGE, VIEW
from apps.fulfillment.admin.blocks import Block, blocks_of
from apps.fulfillment.admin.doings import DOINGS
from apps.fulfillment.admin.parcels import DOINGS as PARCEL_DOINGS
from apps.fulfillment.admin.parcels import parcels_of
from apps.fulfillment.admin.story import happened
from apps.fulfillment.domain.states import Action, Side
from apps.orders.admin.additions import Part, add_events, add_part
from apps.orders.models import Order
from apps.panel.access import may
from apps.panel.requests import Context


def _buttons(block: Block, side: Side) -> list[tuple[Action, StrOrPromise, str]]:
    return [(action, DOINGS[action].label, DOINGS[action].kind) for action in block.can(side)]


def _fulfillment(request: HttpRequest, order: Order) -> Context | None:
    if not may(request, VIEW):
        return None
    blocks = blocks_of(order)
    may_change = may(request, CHANGE)
    return {
        "blocks": [
            {
                "block": block,
                "merchant": _buttons(block, Side.MERCHANT) if may_change else [],
                "worker": _buttons(block, Side.WORKER) if may_change else [],
            }
            for block in blocks
        ],
        "sendable": may_change and any(block.sendable for block in blocks),
        "may_change": may_change,
    }


def _sent(request: HttpRequest, order: Order) -> Context | None:
    parcels = parcels_of(order) if may(request, VIEW) else []
    if not parcels:
        return None
    return {"parcels": parcels, "doings": PARCEL_DOINGS.items() if may(request, CHANGE) else ()}


add_part(Part("panel/fulfillment/section.html", _fulfillment, order=10))
add_part(Part("panel/fulfillment/sent.html", _sent, order=11))
add_events(happened)
