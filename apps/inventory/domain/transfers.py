"""Stock transfers: move items between locations of the shop.

Sending removes the quantities from the origin, and receiving adds them to the destination, in one step or several. In
between, the items are in transit and available at neither location. Canceling a transfer that was sent returns what was
not received to the origin. Each step checks the state under the lock of the transfer, and books all lines or none.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from django.db import transaction
from django.db.models import F, Q, Sum
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import apply_changes, record_event
from apps.core.events.values import Changes
from apps.core.exceptions import DomainError
from apps.core.tenancy.scope import get_current_shop
from apps.inventory.domain import documents, movements
from apps.inventory.domain.documents import DocumentClosed, LinesRefused, LocationRefused, Quantities
from apps.inventory.domain.movements import StockChange
from apps.inventory.models import (
    InventoryItem,
    InventoryLevel,
    Location,
    StockMovement,
    StockTransfer,
    StockTransferLine,
)

State = StockTransfer.State
TRANSFER = StockMovement.Reason.TRANSFER
CREATED, UPDATED, SENT = "stock_transfers/create", "stock_transfers/update", "stock_transfers/send"
RECEIVED, CANCELED = "stock_transfers/receive", "stock_transfers/cancel"


@transaction.atomic
def create_transfer(
    *, origin_id: int, destination_id: int, quantities: Quantities, note: str = "", actor: str, at: datetime
) -> StockTransfer:
    """Create a draft with the quantity of each item, keyed by item id."""
    origin, destination = _check_locations(origin_id, destination_id)
    transfer = StockTransfer(
        shop=get_current_shop(),
        number=documents.take_number(StockTransfer),
        origin=origin,
        destination=destination,
        note=note,
        actor=actor,
        created_at=at,
    )
    transfer.save()
    documents.replace_lines(transfer, quantities)
    record_event(CREATED, transfer, actor=actor, at=at)
    return transfer


@transaction.atomic
def update_transfer(
    transfer: StockTransfer,
    *,
    origin_id: int,
    destination_id: int,
    quantities: Quantities,
    note: str = "",
    seen_version: int | None = None,
    actor: str,
    at: datetime,
) -> StockTransfer:
    """Replace the values and lines of a draft.

    Raises:
        DocumentClosed: The transfer is no longer a draft.
        DocumentChanged: ``seen_version`` is not the current version.
    """
    _lock(transfer, State.DRAFT)
    documents.check_version(transfer, seen_version)
    origin, destination = _check_locations(origin_id, destination_id)
    values = {"origin_id": origin.pk, "destination_id": destination.pk, "note": note}
    documents.save_draft(transfer, values, quantities, topic=UPDATED, actor=actor, at=at)
    return transfer


@transaction.atomic
def send_transfer(transfer: StockTransfer, *, actor: str, at: datetime) -> None:
    """Remove the quantities from the origin.

    Raises:
        DocumentClosed: The transfer is no longer a draft.
        LinesRefused: Items are not stocked at the origin, or not in this quantity.
        LocationRefused: A location is inactive.
    """
    _lock(transfer, State.DRAFT)
    lines = list(transfer.lines.all())
    documents.check_lines_complete(lines)
    _check_locations(transfer.origin_id, transfer.destination_id)
    quantities = {line.item_id: line.quantity for line in lines if line.item_id is not None}
    documents.lock_existing(quantities)
    untracked = _check_departures(quantities, transfer.origin_id)
    changes = apply_changes(transfer, {"state": State.IN_TRANSIT.value, "sent_at": at, "sent_by": actor})
    transfer.save()
    moves = [
        StockChange(pk, transfer.origin_id, -quantity, may_oversell=pk in untracked)
        for pk, quantity in quantities.items()
    ]
    # A location with items in transit to it stays active, see ``get_transit_objections``.
    movements.apply_stock_changes(
        moves,
        reason=TRANSFER,
        actor=actor,
        at=at,
        reference=str(transfer),
        other_locations=[transfer.destination_id],
    )
    record_event(SENT, transfer, actor=actor, at=at, changes={"state": changes["state"]})


@transaction.atomic
def receive_transfer(
    transfer: StockTransfer, quantities: Quantities, *, seen_version: int | None = None, actor: str, at: datetime
) -> list[InventoryItem]:
    """Add received quantities, keyed by item id, to the destination. Close the transfer if nothing is missing.

    Without quantities, close a transfer if all its missing items were deleted. Return the items that the destination
    did not stock before.

    Raises:
        DocumentClosed: The transfer is not in transit.
        DocumentChanged: ``seen_version`` is not the current version, for example because the same form was sent twice.
        LinesRefused: More was received than sent, or an item can't be stocked at the destination.
    """
    _lock(transfer, State.IN_TRANSIT)
    documents.check_version(transfer, seen_version)
    destination = documents.get_open_location(transfer.destination_id)
    arrived = {pk: quantity for pk, quantity in quantities.items() if quantity}
    documents.lock_existing(arrived)
    lines = list(transfer.lines.all())
    if not arrived and is_awaiting(lines):
        raise DomainError(_("Enter the received quantity of at least one item."))
    _check_received(arrived, lines)
    by_item = {line.item_id: line for line in lines}
    for pk, quantity in arrived.items():
        by_item[pk].received += quantity
    StockTransferLine.objects.bulk_update([by_item[pk] for pk in arrived], ["received"])
    changes: Changes = {"received": [None, sum(arrived.values())]} if arrived else {}
    if not is_awaiting(lines):
        changes |= documents.close(transfer, State.CLOSED, actor=actor, at=at)
    else:
        transfer.save()
    new_items = []
    if arrived:
        new_items = documents.add_arrivals(
            arrived, destination, reason=TRANSFER, reference=str(transfer), actor=actor, at=at
        )
    record_event(RECEIVED, transfer, actor=actor, at=at, changes=changes)
    return new_items


@transaction.atomic
def cancel_transfer(transfer: StockTransfer, *, actor: str, at: datetime) -> int:
    """Cancel a draft, or return what was not received to the origin. Return the returned quantity."""
    _lock(transfer, State.DRAFT, State.IN_TRANSIT)
    returned = {}
    if transfer.state == State.IN_TRANSIT:
        documents.lock_existing(pk for pk in transfer.lines.values_list("item_id", flat=True) if pk is not None)
        lines = transfer.lines.exclude(item=None)
        returned = {line.item_id: line.missing for line in lines if line.item_id is not None and line.missing}
    origin = documents.get_open_location(transfer.origin_id) if returned else None
    changes = documents.close(transfer, State.CANCELED, actor=actor, at=at)
    if origin is not None:
        documents.add_arrivals(returned, origin, reason=TRANSFER, reference=str(transfer), actor=actor, at=at)
    record_event(CANCELED, transfer, actor=actor, at=at, changes=changes)
    return sum(returned.values())


def is_awaiting(lines: Iterable[StockTransferLine]) -> bool:
    """Return True if a line has items that can still be received. Deleted items can't be received."""
    return any(line.missing for line in lines if line.item_id is not None)


def get_incoming(item_ids: Iterable[int]) -> dict[tuple[int, int], int]:
    """Return the quantities in transit, keyed by item and destination. They do not count as available."""
    lines = StockTransferLine.objects.filter(item__in=list(item_ids), transfer__state=State.IN_TRANSIT)
    sums = lines.filter(quantity__gt=F("received")).order_by().values_list("item_id", "transfer__destination_id")
    rows = sums.annotate(units=Sum(F("quantity") - F("received")))
    return {(item, location): units for item, location, units in rows}


def get_transit_objections(location: Location) -> Iterable[str]:
    """Yield the reason why a location with items in transit cannot be deactivated."""
    moving = StockTransfer.objects.filter(Q(origin=location) | Q(destination=location), state=State.IN_TRANSIT)
    if number := moving.count():
        text = ngettext(
            "{number} stock transfer from or to this location is in transit.",
            "{number} stock transfers from or to this location are in transit.",
            number,
        )
        yield text.format(number=number)


def _lock(transfer: StockTransfer, *allowed: StockTransfer.State) -> None:
    """Lock the transfer, or raise ``DocumentClosed`` if the state is not one of the allowed states."""
    refresh_for_update(transfer)
    if transfer.state in allowed:
        return
    texts = {
        State.DRAFT: _("{name} was not sent yet."),
        State.IN_TRANSIT: _("{name} was already sent."),
        State.CLOSED: _("{name} was already received in full."),
        State.CANCELED: _("{name} is canceled."),
    }
    raise DocumentClosed(texts[State(transfer.state)].format(name=transfer))


def _check_locations(origin_id: int, destination_id: int) -> tuple[Location, Location]:
    if origin_id == destination_id:
        raise LocationRefused(_("Choose two different locations."), field="destination")
    return _get_location(origin_id, "origin"), _get_location(destination_id, "destination")


def _get_location(location_id: int, field: str) -> Location:
    try:
        return documents.get_open_location(location_id)
    except LocationRefused as error:
        raise LocationRefused({field: error.errors["location"]}) from None


def _check_departures(quantities: Quantities, origin_id: int) -> set[int]:
    """Return the ids of the untracked items, or raise ``LinesRefused`` for items that the origin does not have.

    The stock of untracked items is not limited. Concurrent sales are detected when the levels are changed.
    """
    untracked = set(InventoryItem.objects.filter(pk__in=list(quantities), tracked=False).values_list("pk", flat=True))
    levels = InventoryLevel.objects.filter(item_id__in=list(quantities), location=origin_id)
    available = dict(levels.values_list("item_id", "available"))
    refused = {}
    for pk, quantity in quantities.items():
        if pk not in available:
            refused[pk] = str(movements.NOT_STOCKED)
        elif pk not in untracked and available[pk] < quantity:
            refused[pk] = _("Only {available} available at the origin.").format(available=max(available[pk], 0))
    if refused:
        raise LinesRefused(refused)
    return untracked


def _check_received(arrived: Quantities, lines: Iterable[StockTransferLine]) -> None:
    missing: Mapping[int, int] = {line.item_id: line.missing for line in lines if line.item_id is not None}
    refused = {
        pk: _("Enter a number from 0 to {limit}.").format(limit=missing.get(pk, 0))
        for pk, quantity in arrived.items()
        if not 0 < quantity <= missing.get(pk, 0)
    }
    if refused:
        raise LinesRefused(refused)
