"""A fulfillment order as staff see it on an order's page: its units, why it waits, what was asked, what can be done."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.fulfillment.domain.states import Action, Side, rule_for, supported_actions
from apps.fulfillment.domain.units import place
from apps.fulfillment.models import FulfillmentHold, FulfillmentOrder, FulfillmentOrderLine, MerchantRequest
from apps.fulfillment.models.orders import RequestStatus, Status
from apps.orders.models import Order

LABELS: dict[str, str] = {
    Status.OPEN: "info",
    Status.IN_PROGRESS: "info",
    Status.SCHEDULED: "default",
    Status.ON_HOLD: "warning",
    Status.INCOMPLETE: "danger",
    Status.CANCELLED: "default",
    Status.CLOSED: "success",
}
REQUEST_LABELS: dict[str, str] = {
    RequestStatus.UNSUBMITTED: "default",
    RequestStatus.SUBMITTED: "warning",
    RequestStatus.ACCEPTED: "success",
    RequestStatus.REJECTED: "danger",
    RequestStatus.CANCELLATION_REQUESTED: "warning",
    RequestStatus.CANCELLATION_ACCEPTED: "default",
    RequestStatus.CANCELLATION_REJECTED: "danger",
    RequestStatus.CLOSED: "danger",
}


@dataclass(slots=True)
class Block:
    """What is shown of a fulfillment order.

    Attributes:
        lines: With their lines of the order.
        merchant: What the shop can do now.
        worker: What whoever works at the location can do now.
    """

    row: FulfillmentOrder
    lines: list[FulfillmentOrderLine] = field(default_factory=list)
    holds: list[FulfillmentHold] = field(default_factory=list)
    requests: list[MerchantRequest] = field(default_factory=list)

    @property
    def state(self) -> tuple[str, str]:
        """The kind of the badge, and its text."""
        return LABELS[self.row.status], self.row.get_status_display()

    @property
    def request_state(self) -> tuple[str, str]:
        """As ``state``, of the request."""
        return REQUEST_LABELS[self.row.request_status], self.row.get_request_status_display()

    @property
    def left(self) -> int:
        """How many units are yet to be sent."""
        return sum(line.fulfillable_quantity for line in self.lines)

    @property
    def urgency(self) -> tuple[str, str]:
        """See ``urgency_of``."""
        return urgency_of(self.row, timezone.now())

    def can(self, side: Side) -> list[Action]:
        """What a side can do now, by the table of states; sending has a screen of its own."""
        state, where = (self.row.status, self.row.request_status), place(self.row)
        actions = [Action(name) for name in supported_actions(state, where)]
        return [
            action
            for action in actions
            if action is not Action.CREATE_FULFILLMENT and rule_for(action, state, where).side is side
        ]

    @property
    def sendable(self) -> bool:
        """Whether units can be sent now."""
        return can_send(self.row) and self.left > 0


def can_send(row: FulfillmentOrder) -> bool:
    """Whether the table of states allows to send units now."""
    return Action.CREATE_FULFILLMENT in supported_actions((row.status, row.request_status), place(row))


def urgency_of(row: FulfillmentOrder, now: datetime) -> tuple[str, str]:
    """The kind of a badge and its text: late, or for how long it has waited; blank for what is in time or done."""
    if not row.is_unfinished:
        return "", ""
    if row.fulfill_by is not None and row.fulfill_by < now:
        return "danger", _("Late by {time}").format(time=_span(now - row.fulfill_by))
    since = row.fulfill_at or row.created_at
    if row.fulfill_by is None and row.status != Status.SCHEDULED and now - since >= timedelta(days=1):
        return "warning", _("Waiting for {time}").format(time=_span(now - since))
    return "", ""


def _span(time: timedelta) -> str:
    if time.days:
        return ngettext("{count} day", "{count} days", time.days).format(count=time.days)
    hours = time.seconds // 3600
    if not hours:
        return _("less than an hour")
    return ngettext("{count} hour", "{count} hours", hours).format(count=hours)


def blocks_of(order: Order) -> list[Block]:
    """The blocks of an order: what is to be done first, in the order in which they were made."""
    rows = FulfillmentOrder.rows().filter(order=order).select_related("assigned_location__service").order_by("pk")
    found = filled(rows)
    # What was replaced and has no lines left says nothing.
    shown = [block for block in found if block.lines or block.requests or block.row.is_unfinished]
    return sorted(shown, key=lambda block: not block.row.is_unfinished)


def filled(rows: Iterable[FulfillmentOrder]) -> list[Block]:
    """Blocks of fulfillment orders, whose locations are loaded."""
    blocks = [Block(row) for row in rows]
    pks = [block.row.pk for block in blocks]
    lines: dict[int, list[FulfillmentOrderLine]] = defaultdict(list)
    for line in lines_of(pks):
        lines[line.fulfillment_order_id].append(line)
    holds: dict[int, list[FulfillmentHold]] = defaultdict(list)
    for hold in FulfillmentHold.rows().filter(fulfillment_order_id__in=pks).order_by("pk"):
        holds[hold.fulfillment_order_id].append(hold)
    requests: dict[int, list[MerchantRequest]] = defaultdict(list)
    for request in MerchantRequest.rows().filter(fulfillment_order_id__in=pks).order_by("pk"):
        requests[request.fulfillment_order_id].append(request)
    for block in blocks:
        pk = block.row.pk
        block.lines, block.holds, block.requests = lines[pk], holds[pk], requests[pk]
    return blocks


def lines_of(pks: Sequence[int]) -> list[FulfillmentOrderLine]:
    """The lines of fulfillment orders, with their lines of the order, in their order."""
    rows = FulfillmentOrderLine.rows().filter(fulfillment_order_id__in=pks)
    return list(rows.select_related("line_item").order_by("fulfillment_order_id", "pk"))
