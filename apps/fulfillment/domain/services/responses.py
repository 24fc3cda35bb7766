"""Parse the stock and tracking numbers that fulfillment services report, and store them.

Responses are parsed strictly, because a service can return any content. SKUs that are not stocked with the service are
skipped. The rest of a response is applied completely or not at all.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from apps.catalog.models import Variant
from apps.core.exceptions import RowDeleted
from apps.core.i18n.messages import SENTENCES, Message, as_message, define_message, define_text
from apps.core.numbers.exact import parse_whole_number
from apps.core.strict_json import InvalidJson, parse_json
from apps.fulfillment.domain import tracking
from apps.fulfillment.models import Fulfillment, FulfillmentService
from apps.inventory.domain import movements, stock
from apps.inventory.domain.movements import StockChange
from apps.inventory.domain.stock import NotShared
from apps.inventory.models import MAX_AVAILABLE, InventoryItem, InventoryLevel, StockMovement

MAX_BYTES = 4 * 1024 * 1024
MAX_SKU = 255
MAX_NUMBER = 255
# The URL of a request contains up to 100 fulfillment names. Older fulfillments are not requested, because they are
# unlikely to get a tracking number.
MAX_NAMES = 100
MAX_AGE = timedelta(days=60)
_BATCH = 500
# The maximum number of SKUs or names that a message lists.
_MAX_LISTED = 10
_MAX_QUOTED = 60
_NOT_JSON = define_message("polling.not_json", "The response is not valid JSON: {error}")
_NO_OBJECT = define_text("polling.no_object", "The response is not a JSON object.")
_NOT_STOCKED = define_message("polling.not_stocked", "{count} of the SKUs are not stocked with this service: {skus}.")
_NOT_SHARED = define_message(
    "polling.not_shared", "{count} of the SKUs are stocked at a location that does not share its items: {skus}."
)
_NOT_WHOLE = define_message("polling.not_whole", "The quantity of {sku} is not a whole number.")
_OUT_OF_RANGE = define_message("polling.out_of_range", "The quantity of {sku} is not between 0 and {limit}.")
_NOT_REQUESTED = define_message("polling.not_requested", "{count} of the names were not requested: {names}.")
_NO_NUMBERS = define_message("polling.no_numbers", "The service reported no tracking numbers: {message}")
_NUMBERS_NO_OBJECT = define_text("polling.numbers_no_object", "tracking_numbers is not a JSON object.")
_BAD_NUMBER = define_message(
    "polling.bad_number", "The tracking number of {name} is not a text of 1 to {limit} characters."
)


class InvalidResponse(ValueError):
    """Raised when a response is invalid. The message contains the reason."""


def _parse_json_object(body: bytes) -> Mapping[str, object]:
    try:
        value = parse_json(body, limit=MAX_BYTES)
    except InvalidJson as error:
        raise InvalidResponse(_NOT_JSON(error=as_message(str(error)))) from error
    if not isinstance(value, dict):
        raise InvalidResponse(_NO_OBJECT)
    return value


def quote_text(text: str) -> str:
    """Quote a string from a service in a message. Long strings are shortened."""
    return repr(text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…")


def _quote_texts(texts: Sequence[str]) -> str:
    return ", ".join(map(quote_text, texts[:_MAX_LISTED])) + " …" * (len(texts) > _MAX_LISTED)


def parse_stock(body: bytes) -> dict[str, int]:
    """Parse the response ``{"<SKU>": <quantity>}``, or raise ``InvalidResponse``."""
    return {sku: _parse_quantity(sku, value) for sku, value in _parse_json_object(body).items()}


def _parse_quantity(sku: str, value: object) -> int:
    quantity = parse_whole_number(value)
    if quantity is None:
        raise InvalidResponse(_NOT_WHOLE(sku=quote_text(sku)))
    if not 0 <= quantity <= MAX_AVAILABLE:
        raise InvalidResponse(_OUT_OF_RANGE(sku=quote_text(sku), limit=MAX_AVAILABLE))
    return quantity


def set_reported_stock(
    service: FulfillmentService, quantities: Mapping[str, int], *, hold: Callable[[], None], at: datetime
) -> tuple[int, Message | None]:
    """Set the inventory levels at a service's location to the reported quantities, keyed by SKU.

    ``hold`` is called at the start of each transaction, and raises an exception if the result is outdated. Return the
    number of changed levels, and a message about SKUs that were skipped.
    """
    changed = 0
    unknown: list[str] = []
    unshared: list[str] = []
    skus = sorted(quantities)
    for start in range(0, len(skus), _BATCH):
        batch = {sku: quantities[sku] for sku in skus[start : start + _BATCH]}
        with transaction.atomic():
            hold()
            changed += _apply_batch(service, batch, unknown, unshared, at=at)
    groups = ((_NOT_STOCKED, unknown), (_NOT_SHARED, unshared))
    sentences = [template(count=len(skipped), skus=_quote_texts(skipped)) for template, skipped in groups if skipped]
    if len(sentences) > 1:
        return changed, SENTENCES(first=sentences[0], second=sentences[1])
    return changed, next(iter(sentences), None)


def _apply_batch(
    service: FulfillmentService, quantities: Mapping[str, int], unknown: list[str], unshared: list[str], *, at: datetime
) -> int:
    """Return the number of changed levels, and add the skipped SKUs to ``unknown`` and ``unshared``."""
    # The service's items are stocked at its location or belong to a variant with this service.
    is_stocked = InventoryLevel.objects.filter(item=OuterRef("pk"), location_id=service.location_id)
    has_service = Variant.objects.filter(inventory_item=OuterRef("pk"), fulfillment_service=service.handle)
    valid_skus = [sku for sku in quantities if sku and len(sku) <= MAX_SKU]
    own_items = InventoryItem.objects.filter(Exists(is_stocked) | Exists(has_service), sku__in=valid_skus)
    items = list(own_items.order_by("pk"))
    unknown += sorted(quantities.keys() - {item.sku for item in items})
    actor = f"app:{service.app_id}"
    levels = InventoryLevel.objects.filter(item__in=items, location_id=service.location_id)
    stocked = set(levels.values_list("item_id", flat=True))
    if missing := [item for item in items if item.pk not in stocked]:
        # Lock all items before any inventory level, in the same order as all other functions, to avoid deadlocks.
        stock.lock_items(item.pk for item in items)
        for item in missing:
            try:
                with transaction.atomic():
                    stock.connect_item(item, service.location, actor=actor, at=at)
            except NotShared:
                unshared.append(item.sku)
    available = dict(levels.select_for_update().order_by("item_id").values_list("item_id", "available"))
    moves = [
        StockChange(item.pk, service.location_id, quantities[item.sku] - available[item.pk])
        for item in items
        if item.pk in available
    ]
    changed = movements.apply_stock_changes(
        moves, reason=StockMovement.Reason.SERVICE, actor=actor, at=at, reference=service.name
    )
    return len(changed)


def get_untracked_fulfillments(service: FulfillmentService, at: datetime) -> QuerySet[Fulfillment]:
    """Return the service's recent fulfillments without a tracking number, latest first."""
    fulfillments = Fulfillment.objects.filter(
        location_id=service.location_id, created_at__gt=at - MAX_AGE, tracking_numbers=[]
    )
    return fulfillments.exclude(status=Fulfillment.Status.CANCELLED).order_by("-pk")


def parse_tracking_numbers(body: bytes) -> dict[str, str]:
    """Parse the response ``{"tracking_numbers": {"<name>": "<number>"}, "success": true, "message": ""}``."""
    response = _parse_json_object(body)
    if response.get("success", True) is not True:
        raise InvalidResponse(_NO_NUMBERS(message=quote_text(str(response.get("message", "")))))
    numbers = response.get("tracking_numbers")
    if not isinstance(numbers, Mapping):
        raise InvalidResponse(_NUMBERS_NO_OBJECT)
    return {name: _parse_number(name, value) for name, value in numbers.items()}


def _parse_number(name: str, value: object) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not (text and len(text) <= MAX_NUMBER and text.isprintable()):
        raise InvalidResponse(_BAD_NUMBER(name=quote_text(name), limit=MAX_NUMBER))
    return text


def set_reported_numbers(
    service: FulfillmentService, numbers: Mapping[str, str], *, hold: Callable[[], None], at: datetime
) -> tuple[int, Message | None]:
    """Set reported tracking numbers, keyed by name, of fulfillments that have none.

    ``hold`` is called as in ``set_reported_stock``. Return the number of changed fulfillments, and a message about
    names that were not requested.
    """
    waiting = {row.name: row for row in get_untracked_fulfillments(service, at)[:MAX_NAMES]}
    changed = 0
    for name in sorted(numbers.keys() & waiting.keys()):
        with transaction.atomic():
            hold()
            changed += _set_number(waiting[name], numbers[name], actor=f"app:{service.app_id}", at=at)
    unknown = sorted(numbers.keys() - waiting.keys())
    return changed, _NOT_REQUESTED(count=len(unknown), names=_quote_texts(unknown)) if unknown else None


def _set_number(fulfillment: Fulfillment, number: str, *, actor: str, at: datetime) -> bool:
    """Set a tracking number. Do nothing if the fulfillment has changed or was deleted in the meantime."""
    try:
        row = tracking.lock_fulfillment(fulfillment)
    except RowDeleted:
        return False
    if row.tracking_numbers or row.status == Fulfillment.Status.CANCELLED:
        return False
    tracking.update_tracking(row, tracking.complete_tracking({"number": number}), actor=actor, at=at)
    return True
