"""The fulfillment section of the order page, and the timeline sentences for fulfillment events."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.dateformat import format as written
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django_stubs_ext import StrOrPromise

from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import Context
from apps.core.db.lookups import in_materialized
from apps.core.events.models import Event
from apps.core.events.timelines import describe_event
from apps.core.i18n.formats import lowercase_label
from apps.fulfillment.admin.actions import ACTIONS, ANSWERS
from apps.fulfillment.admin.fulfillment_detail import ACTIONS as PARCEL_DOINGS
from apps.fulfillment.admin.fulfillment_detail import get_fulfillment_cards
from apps.fulfillment.admin.fulfillment_order_cards import (
    FulfillmentOrderCard,
    can_fulfill,
    get_order_cards,
    get_possible_actions,
)
from apps.fulfillment.admin.permissions import CHANGE, VIEW
from apps.fulfillment.domain.fulfillment_orders.states import Action, Side
from apps.fulfillment.domain.fulfillment_orders.transitions import HOLD_ADDED, HOLD_RELEASED
from apps.fulfillment.models import (
    Fulfillment,
    FulfillmentEvent,
    FulfillmentHold,
    FulfillmentOrder,
    FulfillmentOrderLine,
)
from apps.orders.admin.extension_points import (
    MAX_EVENTS,
    OrderAction,
    OrderSection,
    TimelineEvent,
    action_sources,
    order_sections,
    timeline_sources,
)
from apps.orders.domain.selectors import get_line_items
from apps.orders.models import Order

# The timeline sentences, keyed by topic. ``work`` is the fulfillment order, and ``place`` is its location.
# ``_get_details`` fills in the other placeholders.
SENTENCES = {
    "order_routing_complete": gettext_noop("{work} was created at {place}."),
    "fulfillment_request_submitted": gettext_noop("{place} was asked to fulfill {work}."),
    "fulfillment_request_accepted": gettext_noop("{place} accepted the request to fulfill {work}."),
    "fulfillment_request_rejected": gettext_noop("{place} rejected the request to fulfill {work}."),
    "cancellation_request_submitted": gettext_noop("{place} was asked to cancel {work}."),
    "cancellation_request_accepted": gettext_noop("{place} accepted the cancellation of {work}."),
    "cancellation_request_rejected": gettext_noop(
        "{place} rejected the cancellation of {work} and continues to fulfill it."
    ),
    "fulfillment_service_failed_to_complete": gettext_noop("{work} at {place} was marked as incomplete{message}."),
    "cancelled": gettext_noop("{work} at {place} was canceled."),
    "placed_on_hold": gettext_noop("{work} at {place} was put on hold{reason}."),
    "hold_released": gettext_noop("The hold on {work} at {place} was released."),
    "moved": gettext_noop("Items were moved from {before} to {place}: {work}."),
    "split": gettext_noop("Some items of {work} at {place} were split off{split_off}."),
    "rescheduled": gettext_noop("{work} at {place} was rescheduled for {fulfill_at}."),
    "scheduled_fulfillment_order_ready": gettext_noop("{work} at {place} is ready to fulfill."),
    "deadline_set": gettext_noop("{work} at {place} has to be fulfilled by {fulfill_by}."),
}
# The largest number of items that a sentence names.
_MAX_NAMED_ITEMS = 5
# Topics about a single hold are omitted, because ``placed_on_hold`` and ``hold_released`` already report all holds.
_HOLD_TOPICS = (HOLD_ADDED, HOLD_RELEASED)


@dataclass(slots=True)
class _Names:
    """Names for the timeline sentences, by id. ``locations`` includes locations that items were moved away from.

    ``location_ids`` is keyed by fulfillment order, and ``fulfillments`` has names, locations and items.
    """

    location_ids: dict[int, int] = field(default_factory=dict)
    locations: dict[int, str] = field(default_factory=dict)
    fulfillments: dict[int, tuple[str, str, list[str]]] = field(default_factory=dict)


def get_timeline_events(request: HttpRequest, order: Order) -> list[TimelineEvent]:
    """Return the newest fulfillment events of an order with their sentences, in four queries."""
    if not has_permission(request, VIEW):
        return []
    names = _Names()
    fulfillment_orders = FulfillmentOrder.rows().filter(order=order).order_by()
    for pk, location, name in fulfillment_orders.values_list("pk", "assigned_location", "assigned_location__name"):
        names.location_ids[pk], names.locations[location] = location, name
    fulfillments = Fulfillment.rows().filter(order=order).order_by()
    columns = ("pk", "name", "location__name", "lines__quantity", "lines__line_item__name")
    for pk, name, location_name, quantity, item in fulfillments.order_by("lines__pk").values_list(*columns):
        _name, _location, items = names.fulfillments.setdefault(pk, (name, location_name, []))
        if quantity:
            items.append(f"{quantity} × {item}")
    return [
        *((event, _describe_order_event(event, names)) for event in _get_events(fulfillment_orders)),
        *((event, _describe_fulfillment_event(event, names)) for event in _get_events(fulfillments)),
    ]


def _get_events(rows: QuerySet[FulfillmentOrder] | QuerySet[Fulfillment]) -> list[Event]:
    events = Event.rows().filter(
        in_materialized(rows.values("pk"), "subject_id"), subject_type=rows.model._meta.label_lower
    )
    return list(events.exclude(topic__in=_HOLD_TOPICS).order_by("-id").defer("payload")[:MAX_EVENTS])


def _describe_order_event(event: Event, names: _Names) -> str:
    template = SENTENCES.get(event.topic.partition("/")[2])
    fulfillment_order = _("fulfillment order no. {number}").format(number=event.subject_id)
    if template is None or event.message:
        return f"{describe_event(event)}: {fulfillment_order}"
    place = names.locations.get(names.location_ids.get(event.subject_id, 0), _("another location"))
    return capfirst(_(template).format(work=fulfillment_order, place=place, **_get_details(event, names)))


def _get_details(event: Event, names: _Names) -> dict[str, str]:
    """Format the values in an event's changes. For an event without changes, the texts are blank or generic."""

    def before_and_after(name: str) -> list[object]:
        change = event.changes.get(name)
        return change if isinstance(change, list) and len(change) == 2 else [None, None]

    before_id, _after = before_and_after("assigned_location_id")
    before = names.locations.get(before_id) if isinstance(before_id, int) else None
    _before, reason = before_and_after("hold_reason")
    _before, other = before_and_after("split_off")
    _before, message = before_and_after("message")
    return {
        "before": before or _("another location"),
        "reason": f": {FulfillmentHold.Reason(reason).label}" if reason in FulfillmentHold.Reason.values else "",
        "split_off": _(" into fulfillment order no. {number}").format(number=other) if other else "",
        "message": f": {_('“{text}”').format(text=message)}" if message else "",
        "fulfill_at": _format_moment(before_and_after("fulfill_at")[1]),
        "fulfill_by": _format_moment(before_and_after("fulfill_by")[1]),
    }


def _format_moment(value: object) -> str:
    if not isinstance(value, str):
        return _("another time")
    return written(timezone.localtime(datetime.fromisoformat(value)), "j M Y, H:i")


def _describe_fulfillment_event(event: Event, names: _Names) -> str:
    unknown: tuple[str, str, list[str]] = (event.subject_label, _("another location"), [])
    name, place, items = names.fulfillments.get(event.subject_id, unknown)
    if event.message:
        return f"{event.message}: {name}"
    if event.topic == "fulfillments/create":
        return _describe_creation(name, place, items)
    if "status" in event.changes:
        return _("{parcel} was canceled. The items are now unfulfilled.").format(parcel=name)
    if "shipment_status" in event.changes:
        status = event.changes["shipment_status"][1]
        if status in FulfillmentEvent.Status.values:
            label = lowercase_label(str(FulfillmentEvent.Status(status).label))
            return _("Shipment status of {parcel}: {status}.").format(parcel=name, status=label)
        return _("The latest tracking event of {parcel} was removed.").format(parcel=name)
    return _("The tracking information of {parcel} was updated.").format(parcel=name)


def _describe_creation(name: str, place: str, items: Sequence[str]) -> str:
    if not items:
        return _("{parcel} was fulfilled from {place}.").format(parcel=name, place=place)
    listed = ", ".join(items[:_MAX_NAMED_ITEMS])
    if len(items) > _MAX_NAMED_ITEMS:
        listed += _(" and {count} more").format(count=len(items) - _MAX_NAMED_ITEMS)
    return _("{parcel} was fulfilled from {place}: {items}.").format(parcel=name, place=place, items=listed)


def _get_buttons(block: FulfillmentOrderCard) -> dict[str, list[tuple[Action, StrOrPromise, str]]]:
    """Return the buttons that answer a request, which come first, and all other buttons, the red ones last."""
    actions = [*block.get_actions(Side.MERCHANT), *block.get_actions(Side.WORKER)]
    buttons = [(action, ACTIONS[action].label, ACTIONS[action].kind) for action in actions]
    buttons.sort(key=lambda button: button[2] == "danger")
    return {
        "answers": [button for button in buttons if button[0] in ANSWERS],
        "others": [button for button in buttons if button[0] not in ANSWERS],
    }


def _get_fulfillment_order_context(request: HttpRequest, order: Order) -> Context | None:
    if not has_permission(request, VIEW):
        return None
    blocks = get_order_cards(order)
    if not blocks and order.status == Order.Status.CANCELLED:
        return None
    may_change = has_permission(request, CHANGE)
    are_split = sum(block.remaining_quantity > 0 for block in blocks) > 1
    return {
        "blocks": [
            {
                "block": block,
                # The list of the order's items shows the items of a single fulfillment order.
                "lines": [line for line in block.lines if line.fulfillable_quantity] if are_split else [],
                **(_get_buttons(block) if may_change else {}),
            }
            for block in blocks
        ],
        "is_awaiting_routing": not blocks and any(line.fulfillable_quantity for line in get_line_items(order)),
        "may_change": may_change,
        # The button at the top of the page fulfills the items of a single location.
        "has_several_locations": sum(block.is_fulfillable for block in blocks) > 1,
    }


def _get_fulfillment_context(request: HttpRequest, order: Order) -> Context | None:
    cards = get_fulfillment_cards(order) if has_permission(request, VIEW) else []
    if not cards:
        return None
    # The list of the order's items shows the items of a fulfillment with all items.
    has_all_items = len(cards) == 1 and order.fulfillment_status == Order.FulfillmentStatus.FULFILLED
    return {
        "parcels": cards,
        "has_all_items": has_all_items,
        "doings": PARCEL_DOINGS.items() if has_permission(request, CHANGE) else (),
    }


def get_actions(request: HttpRequest, order: Order) -> Iterator[OrderAction]:
    """Offer to answer a request and to fulfill items, or if none can be fulfilled now, what has to be done before."""
    if not has_permission(request, CHANGE):
        return
    is_open = order.status == Order.Status.OPEN
    has_remaining_items = Exists(
        FulfillmentOrderLine.rows().filter(fulfillment_order=OuterRef("pk"), fulfillable_quantity__gt=0)
    )
    rows = FulfillmentOrder.rows().filter(has_remaining_items, order=order).select_related("assigned_location")
    fulfillment_orders = list(rows.order_by("pk"))
    answer = _find_action(fulfillment_orders, (Action.ACCEPT_CANCELLATION_REQUEST,), position=5, is_step=is_open)
    if answer is not None:
        yield answer
    if any(can_fulfill(row) for row in fulfillment_orders):
        url = reverse("admin:fulfillment_fulfillmentorder_fulfill", args=[order.pk])
        yield OrderAction(_("Fulfill items…"), url, order=20, is_step=is_open, is_button=answer is None)
        return
    preparations = (Action.RELEASE_HOLD, Action.REQUEST_FULFILLMENT)
    if preparation := _find_action(fulfillment_orders, preparations, position=20, is_step=is_open):
        yield preparation


def _find_action(
    rows: Iterable[FulfillmentOrder], actions: Iterable[Action], *, position: int, is_step: bool
) -> OrderAction | None:
    """Return the first of the actions that a fulfillment order allows now, as a button."""
    possible = [(row, set(get_possible_actions(row))) for row in rows]
    for action in actions:
        for row, allowed in possible:
            if action in allowed:
                url = reverse("admin:fulfillment_fulfillmentorder_act", args=[row.pk, action.value])
                return OrderAction(ACTIONS[action].label, url, order=position, is_step=is_step, is_button=True)
    return None


action_sources.add(get_actions)
order_sections.add(
    OrderSection("panel/fulfillment/fulfillment_orders.html", _get_fulfillment_order_context, order=10),
    OrderSection("panel/fulfillment/fulfillments.html", _get_fulfillment_context, order=11),
)
timeline_sources.add(get_timeline_events)
