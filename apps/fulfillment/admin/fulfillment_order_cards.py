"""Fulfillment order cards on the order page: items, holds, requests, and available actions."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Prefetch, prefetch_related_objects
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.fulfillment.domain.fulfillment_orders.quantities import get_location_manager
from apps.fulfillment.domain.fulfillment_orders.states import Action, Side, get_rule, get_supported_actions
from apps.fulfillment.models import FulfillmentHold, FulfillmentOrder, FulfillmentOrderLine, MerchantRequest
from apps.fulfillment.models.orders import RequestStatus, Status
from apps.orders.admin.page_context import format_items
from apps.orders.models import Order

STATUS_COLORS: dict[str, str] = {
    Status.OPEN: "info",
    Status.IN_PROGRESS: "info",
    Status.SCHEDULED: "default",
    Status.ON_HOLD: "warning",
    Status.INCOMPLETE: "danger",
    Status.CANCELLED: "default",
    Status.CLOSED: "success",
}
REQUEST_STATUS_COLORS: dict[str, str] = {
    RequestStatus.UNSUBMITTED: "default",
    RequestStatus.SUBMITTED: "warning",
    RequestStatus.ACCEPTED: "success",
    RequestStatus.REJECTED: "danger",
    RequestStatus.CANCELLATION_REQUESTED: "warning",
    RequestStatus.CANCELLATION_ACCEPTED: "default",
    RequestStatus.CANCELLATION_REJECTED: "danger",
    RequestStatus.CLOSED: "danger",
}


@dataclass(frozen=True, slots=True)
class FulfillmentOrderCard:
    row: FulfillmentOrder
    lines: list[FulfillmentOrderLine]
    holds: list[FulfillmentHold]
    requests: list[MerchantRequest]

    @property
    def state(self) -> tuple[str, str]:
        return STATUS_COLORS[self.row.status], self.row.get_status_display()

    @property
    def request_state(self) -> tuple[str, str]:
        return REQUEST_STATUS_COLORS[self.row.request_status], self.row.get_request_status_display()

    @property
    def remaining_quantity(self) -> int:
        return sum(line.fulfillable_quantity for line in self.lines)

    @property
    def remaining_items(self) -> str:
        return format_items(
            [(line.fulfillable_quantity, line.line_item.name) for line in self.lines if line.fulfillable_quantity]
        )

    @property
    def urgency(self) -> tuple[str, str]:
        return get_urgency(self.row, timezone.now())

    def get_actions(self, side: Side) -> list[Action]:
        """List the actions that the page offers a side now.

        Creating a fulfillment has its own page. A fulfillment order on hold is not offered another hold.
        """
        state, managed_by = (self.row.status, self.row.request_status), get_location_manager(self.row)
        omitted = {Action.CREATE_FULFILLMENT} | ({Action.HOLD} if self.row.status == Status.ON_HOLD else set())
        return [
            action
            for action in get_possible_actions(self.row)
            if action not in omitted and get_rule(action, state, managed_by).side is side
        ]

    @property
    def is_fulfillable(self) -> bool:
        return can_fulfill(self.row) and self.remaining_quantity > 0


def can_fulfill(row: FulfillmentOrder) -> bool:
    return Action.CREATE_FULFILLMENT in get_possible_actions(row)


def get_possible_actions(row: FulfillmentOrder) -> list[Action]:
    state = (row.status, row.request_status)
    return [Action(name) for name in get_supported_actions(state, get_location_manager(row))]


def get_urgency(row: FulfillmentOrder, now: datetime) -> tuple[str, str]:
    """Return the color and text of the badge "Late by …" or "… old", or empty strings."""
    if not row.is_unfinished:
        return "", ""
    if row.fulfill_by is not None and row.fulfill_by < now:
        return "danger", _("Late by {time}").format(time=format_duration(now - row.fulfill_by))
    since = row.fulfill_at or row.created_at
    if row.fulfill_by is None and row.status != Status.SCHEDULED and now - since >= timedelta(days=1):
        return "warning", _("{time} old").format(time=format_duration(now - since))
    return "", ""


def format_duration(duration: timedelta) -> str:
    if duration.days:
        return ngettext("{count} day", "{count} days", duration.days).format(count=duration.days)
    hours = duration.seconds // 3600
    if not hours:
        return _("less than an hour")
    return ngettext("{count} hour", "{count} hours", hours).format(count=hours)


def get_order_cards(order: Order) -> list[FulfillmentOrderCard]:
    """List an order's fulfillment orders: unfinished before finished, older before newer."""
    rows = FulfillmentOrder.rows().filter(order=order).select_related("assigned_location__service").order_by("pk")
    cards = load_cards(rows)
    # Hide finished fulfillment orders without lines. Their items moved to other fulfillment orders.
    visible_cards = [card for card in cards if card.lines or card.requests or card.row.is_unfinished]
    return sorted(visible_cards, key=lambda card: not card.row.is_unfinished)


def load_cards(rows: Iterable[FulfillmentOrder]) -> list[FulfillmentOrderCard]:
    """Load the lines, holds and requests of fulfillment orders. The locations must already be loaded."""
    fulfillment_orders = list(rows)
    prefetch_related_objects(
        fulfillment_orders,
        Prefetch("lines", FulfillmentOrderLine.rows().select_related("line_item").order_by("pk")),
        Prefetch("holds", FulfillmentHold.rows().order_by("pk")),
        Prefetch("requests", MerchantRequest.rows().order_by("pk")),
    )
    return [
        FulfillmentOrderCard(row, list(row.lines.all()), list(row.holds.all()), list(row.requests.all()))
        for row in fulfillment_orders
    ]
