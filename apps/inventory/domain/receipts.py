"""Stock receipts: save a draft, receive the items, or cancel the draft.

A draft changes no stock. Receiving books each line once: the state is checked under the lock of the receipt, in the
transaction that changes the stock.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError
from apps.core.tenancy.scope import get_current_shop
from apps.inventory.domain import documents
from apps.inventory.domain.documents import DocumentClosed, Quantities
from apps.inventory.models import InventoryItem, StockMovement, StockReceipt, StockReceiptLine

State = StockReceipt.State
DEFAULT_REASON = StockMovement.Reason.RECEIVED
CREATED, UPDATED = "stock_receipts/create", "stock_receipts/update"
RECEIVED, CANCELED = "stock_receipts/receive", "stock_receipts/cancel"


@transaction.atomic
def create_receipt(
    *, location_id: int, quantities: Quantities, reason: str, note: str = "", actor: str, at: datetime
) -> StockReceipt:
    """Create a draft with the quantity of each item, keyed by item id."""
    location = documents.get_open_location(location_id)
    receipt = StockReceipt(
        shop=get_current_shop(),
        number=documents.take_number(StockReceipt),
        location=location,
        reason=_check_reason(reason),
        note=note,
        actor=actor,
        created_at=at,
    )
    receipt.save()
    documents.replace_lines(receipt, quantities)
    record_event(CREATED, receipt, actor=actor, at=at)
    return receipt


@transaction.atomic
def update_receipt(
    receipt: StockReceipt,
    *,
    location_id: int,
    quantities: Quantities,
    reason: str,
    note: str = "",
    seen_version: int | None = None,
    actor: str,
    at: datetime,
) -> StockReceipt:
    """Replace the values and lines of a draft.

    Raises:
        DocumentClosed: The receipt is no longer a draft.
        DocumentChanged: ``seen_version`` is not the current version.
    """
    _lock_draft(receipt)
    documents.check_version(receipt, seen_version)
    location = documents.get_open_location(location_id)
    values = {"location_id": location.pk, "reason": _check_reason(reason), "note": note}
    documents.save_draft(receipt, values, quantities, topic=UPDATED, actor=actor, at=at)
    return receipt


@transaction.atomic
def receive_receipt(receipt: StockReceipt, *, actor: str, at: datetime) -> list[InventoryItem]:
    """Add the quantities to the location. Return the items that the location did not stock before.

    Raises:
        DocumentClosed: The receipt was already received or canceled.
        LinesRefused: An item can't be stocked at the location.
        LocationRefused: The location is inactive.
    """
    _lock_draft(receipt)
    lines: Sequence[StockReceiptLine] = list(receipt.lines.all())
    documents.check_lines_complete(lines)
    location = documents.get_open_location(receipt.location_id)
    quantities = {line.item_id: line.quantity for line in lines if line.item_id is not None}
    documents.lock_existing(quantities)
    changes = documents.close(receipt, State.RECEIVED, actor=actor, at=at)
    new_items = documents.add_arrivals(
        quantities,
        location,
        reason=StockMovement.Reason(receipt.reason),
        reference=str(receipt),
        actor=actor,
        at=at,
    )
    record_event(RECEIVED, receipt, actor=actor, at=at, changes=changes)
    return new_items


@transaction.atomic
def cancel_receipt(receipt: StockReceipt, *, actor: str, at: datetime) -> None:
    """Cancel a draft. The number of the receipt is not used again."""
    _lock_draft(receipt)
    changes = documents.close(receipt, State.CANCELED, actor=actor, at=at)
    record_event(CANCELED, receipt, actor=actor, at=at, changes=changes)


def _lock_draft(receipt: StockReceipt) -> None:
    refresh_for_update(receipt)
    if receipt.state == State.RECEIVED:
        raise DocumentClosed(_("{name} was already received. Its stock is booked.").format(name=receipt))
    if receipt.state == State.CANCELED:
        raise DocumentClosed(_("{name} is canceled.").format(name=receipt))


def _check_reason(reason: str) -> str:
    if reason not in StockReceipt.REASONS:
        raise DomainError(_("Choose a reason."), field="reason")
    return reason
