"""Find the items in transit to the shop's locations."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import F

from apps.inventory.models import StockTransfer, StockTransferLine


@dataclass(frozen=True, slots=True)
class IncomingStock:
    """The units of an item in transit, and the transfer with its destination."""

    units: int
    transfer: StockTransfer


def find_incoming(item_ids: Iterable[int]) -> dict[int, list[IncomingStock]]:
    """Return the incoming stock of each item that is in transit, the oldest transfer first."""
    lines = StockTransferLine.objects.filter(
        item__in=list(item_ids), transfer__state=StockTransfer.State.IN_TRANSIT, quantity__gt=F("received")
    )
    found: dict[int, list[IncomingStock]] = {}
    for line in lines.select_related("transfer__destination").order_by("transfer_id"):
        if line.item_id is not None:
            found.setdefault(line.item_id, []).append(IncomingStock(line.quantity - line.received, line.transfer))
    return found
