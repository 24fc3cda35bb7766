"""Functions for documents that change the stock of several items: numbers, lines, and the arrival of items.

Each document keeps copies of the names and SKUs of its items. A document locks rows in this order: the shop (only to
get a number), the document, the items, the levels. The lock on an item also protects the document lines of the item.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Max, TextChoices
from django.utils.translation import gettext as _

from apps.core.events.recording import apply_changes, record_event
from apps.core.events.values import Changes
from apps.core.exceptions import DomainError, RowDeleted, TransitionRefused
from apps.core.tenancy.shops import lock_shop
from apps.core.types import Attrs
from apps.inventory.domain import movements, stock
from apps.inventory.domain.hooks import get_item_names
from apps.inventory.domain.movements import StockChange
from apps.inventory.models import (
    MAX_AVAILABLE,
    MAX_LINES,
    MAX_NAME_LENGTH,
    MAX_QUANTITY,
    InventoryItem,
    InventoryLevel,
    Location,
    StockDocument,
    StockDocumentLine,
    StockMovement,
)

Quantities = Mapping[int, int]


class LinesRefused(DomainError):
    """Raised when lines are invalid. ``lines`` has the reason for each item."""

    def __init__(self, lines: Mapping[int, str]) -> None:
        super().__init__(_("Nothing was saved. Correct the marked lines."))
        self.lines = dict(lines)


class LocationRefused(DomainError):
    field = "location"


class DocumentClosed(TransitionRefused):
    """Raised when the status of a document does not allow the change."""


class DocumentChanged(DomainError):
    """Raised when another user changed the document after the form was opened."""

    status = 409


def take_number(model: type[StockDocument]) -> int:
    """Return the next number of the shop's documents. The shop is locked, so no number is used twice."""
    lock_shop()
    last: int | None = model._default_manager.aggregate(last=Max("number"))["last"]
    return (last or 0) + 1


def check_version(document: StockDocument, seen_version: int | None) -> None:
    if seen_version is not None and seen_version != document.version:
        raise DocumentChanged(
            _("Someone else changed this in the meantime. Your changes are not saved yet. Review them and save again.")
        )


def close(document: StockDocument, state: TextChoices, *, actor: str, at: datetime) -> Changes:
    """Save the last status of a document, and return the changed status for the event."""
    changes = apply_changes(document, {"state": state.value, "closed_at": at, "closed_by": actor})
    document.save()
    return {"state": changes["state"]}


def save_draft(
    document: StockDocument, values: Attrs, quantities: Quantities, *, topic: str, actor: str, at: datetime
) -> None:
    """Replace the values and lines of a draft, and record an event if something has changed."""
    changes = apply_changes(document, values)
    stored = dict(_get_lines(document).values_list("item_id", "quantity"))
    if stored != dict(quantities):
        changes |= {"quantity": [sum(stored.values()), sum(quantities.values())]}
        replace_lines(document, quantities, stored)
    if changes:
        document.save()
        record_event(topic, document, actor=actor, at=at, changes=changes)


def replace_lines(document: StockDocument, quantities: Quantities, stored: Iterable[int | None] = ()) -> None:
    """Replace the lines. ``stored`` contains the item ids of the lines so far."""
    copies = _get_line_copies(_lock_items_of(quantities, stored))
    lines = _get_lines(document)
    lines.all().delete()
    common = {"shop": document.shop, lines.field.name: document}
    lines.bulk_create(
        lines.model(**common, item_id=pk, quantity=quantity, **copies[pk]) for pk, quantity in quantities.items()
    )


def _get_lines(document: StockDocument) -> Any:
    """Return the manager of the lines, which each kind of document has."""
    return document.lines  # type: ignore[attr-defined]


def _lock_items_of(quantities: Quantities, stored: Iterable[int | None] = ()) -> dict[int, InventoryItem]:
    """Check the quantities, and lock and return the items. Also lock the items of the stored lines, in one order."""
    if not quantities:
        raise DomainError(_("Add at least one item."))
    if len(quantities) > MAX_LINES:
        raise DomainError(
            _("A list can have at most {limit} items. Save the rest as another one.").format(limit=MAX_LINES)
        )
    wrong = _("Enter a number from 1 to {limit}.").format(limit=MAX_QUANTITY)
    if refused := {pk: wrong for pk, quantity in quantities.items() if not 1 <= quantity <= MAX_QUANTITY}:
        raise LinesRefused(refused)
    lock_existing({*quantities, *(pk for pk in stored if pk is not None)})
    return InventoryItem.objects.in_bulk(quantities)


def lock_existing(item_ids: Iterable[int]) -> None:
    """Lock items, or raise ``LinesRefused`` with the items that do not exist."""
    ids = set(item_ids)
    try:
        stock.lock_items(ids)
    except RowDeleted:
        present = set(InventoryItem.objects.filter(pk__in=ids).values_list("pk", flat=True))
        text = _("This item was deleted. Remove the line.")
        raise LinesRefused(dict.fromkeys(ids - present, text)) from None


def _get_line_copies(items: Mapping[int, InventoryItem]) -> dict[int, dict[str, str]]:
    """Return the name and SKU to copy into the line of each item."""
    names = get_item_names(list(items.values()))
    return {pk: {"name": names[pk][:MAX_NAME_LENGTH], "sku": item.sku} for pk, item in items.items()}


def check_lines_complete(lines: Sequence[StockDocumentLine]) -> None:
    """Raise ``DomainError`` if there are no lines, or if an item was deleted."""
    if not lines:
        raise DomainError(_("Add at least one item."))
    if deleted := [line.name for line in lines if line.item_id is None]:
        text = _("These items were deleted: {names}. Save the draft to remove them, then continue.")
        raise DomainError(text.format(names=", ".join(deleted[:10])))


def get_open_location(location_id: int) -> Location:
    """Return an active location of the shop itself, or raise ``LocationRefused``."""
    location = Location.objects.filter(pk=location_id).first()
    if location is None:
        raise LocationRefused(_("Choose a location."))
    if not location.active:
        raise LocationRefused(_("{name} is inactive. Choose another location.").format(name=location.name))
    if location.legacy:
        text = _("{name} belongs to a fulfillment service, which reports its own stock. Choose another location.")
        raise LocationRefused(text.format(name=location.name))
    return location


def add_arrivals(
    quantities: Quantities,
    location: Location,
    *,
    reason: StockMovement.Reason,
    reference: str,
    actor: str,
    at: datetime,
) -> list[InventoryItem]:
    """Add quantities to a location, and return the items that the location did not stock before.

    The items must be locked. Items that are not stocked at the location are connected to it.
    """
    new_ids = _check_arrivals(quantities, location)
    moves = [StockChange(pk, location.pk, quantity, connect=True) for pk, quantity in quantities.items()]
    movements.apply_stock_changes(moves, reason=reason, actor=actor, at=at, reference=reference)
    return list(InventoryItem.objects.filter(pk__in=new_ids).order_by("pk")) if new_ids else []


def _check_arrivals(quantities: Quantities, location: Location) -> list[int]:
    """Return the ids of the items that the location does not stock, or raise ``LinesRefused``."""
    levels: dict[int, dict[int, InventoryLevel]] = {pk: {} for pk in quantities}
    rows = InventoryLevel.objects.filter(item_id__in=list(quantities)).select_related("location")
    for level in rows.order_by("location_id"):
        levels[level.item_id][level.location_id] = level
    new_ids: list[int] = []
    refused: dict[int, str] = {}
    for pk, quantity in quantities.items():
        own = levels[pk].get(location.pk)
        others = [level.location for level in levels[pk].values() if not stock.may_share(location, level.location)]
        if own is None:
            new_ids.append(pk)
            if others:
                names = ", ".join(other.name for other in others)
                refused[pk] = stock.NOT_SHARED(names=names, name=location.name)
        elif own.available + quantity > MAX_AVAILABLE:
            refused[pk] = _("{available} are already available. At most {limit} are possible.").format(
                available=own.available, limit=MAX_AVAILABLE
            )
    if refused:
        raise LinesRefused(refused)
    return new_ids
