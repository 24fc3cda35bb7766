"""Sync tracking numbers from a fulfillment service: request, parse and store the tracking numbers of fulfillments."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from apps.fulfillment.domain import tracking
from apps.fulfillment.domain.service_responses import InvalidResponse, parse_json_object, quote_text
from apps.fulfillment.models import Fulfillment, FulfillmentService
from apps.ground.exceptions import RowDeleted

MAX_NUMBER = 255
# The URL of a request contains up to 100 fulfillment names. Older fulfillments are not requested, because they are
# unlikely to get a tracking number.
MAX_NAMES = 100
MAX_AGE = timedelta(days=60)
_MAX_LISTED = 10


@dataclass(slots=True)
class TrackingSyncResult:
    """The result of a tracking sync.

    Attributes:
        changed: The number of fulfillments that received a tracking number.
        unknown: The reported names that were not requested.
    """

    changed: int = 0
    unknown: Sequence[str] = field(default_factory=list)

    @property
    def message(self) -> str:
        """Return a message about unknown names, or an empty string if there are none."""
        if not self.unknown:
            return ""
        names = ", ".join(map(quote_text, self.unknown[:_MAX_LISTED]))
        return (
            f"{len(self.unknown)} of the names were not requested: {names}{' …' * (len(self.unknown) > _MAX_LISTED)}."
        )


def get_untracked_fulfillments(service: FulfillmentService, at: datetime) -> QuerySet[Fulfillment]:
    """Return the service's recent fulfillments without a tracking number, latest first."""
    fulfillments = Fulfillment.objects.filter(
        location_id=service.location_id, created_at__gt=at - MAX_AGE, tracking_numbers=[]
    )
    return fulfillments.exclude(status=Fulfillment.Status.CANCELLED).order_by("-pk")


def parse_tracking_numbers(body: bytes) -> dict[str, str]:
    """Parse a response into a dict of tracking numbers, keyed by fulfillment name.

    Raises:
        InvalidResponse: If the response is not ``{"tracking_numbers": {"<name>": "<number>"}, "success": true,
            "message": ""}``.
    """
    response = parse_json_object(body)
    if response.get("success", True) is not True:
        raise InvalidResponse(
            f"The service reported no tracking numbers: {quote_text(str(response.get('message', '')))}"
        )
    numbers = response.get("tracking_numbers")
    if not isinstance(numbers, Mapping):
        raise InvalidResponse("tracking_numbers is not a JSON object.")
    return {name: _parse_number(name, value) for name, value in numbers.items()}


def _parse_number(name: str, value: object) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not (text and len(text) <= MAX_NUMBER and text.isprintable()):
        raise InvalidResponse(
            f"The tracking number of {quote_text(name)} is not a text of 1 to {MAX_NUMBER} characters."
        )
    return text


def set_reported_numbers(
    service: FulfillmentService, numbers: Mapping[str, str], *, hold: Callable[[], None], at: datetime
) -> TrackingSyncResult:
    """Set the reported tracking numbers of fulfillments that have no tracking number.

    Args:
        service: The service.
        numbers: Tracking numbers, keyed by fulfillment name.
        hold: Called at the start of each transaction. The function raises an exception if the result is outdated.
        at: The current time.
    """
    waiting = {row.name: row for row in get_untracked_fulfillments(service, at)[:MAX_NAMES]}
    report = TrackingSyncResult(unknown=sorted(numbers.keys() - waiting.keys()))
    for name in sorted(numbers.keys() & waiting.keys()):
        with transaction.atomic():
            hold()
            report.changed += _set_number(waiting[name], numbers[name], actor=f"app:{service.app_id}", at=at)
    return report


def _set_number(fulfillment: Fulfillment, number: str, *, actor: str, at: datetime) -> bool:
    """Set a tracking number, unless the fulfillment received a number, was canceled or was deleted in the meantime."""
    try:
        row = tracking.lock_fulfillment(fulfillment)
    except RowDeleted:
        return False
    if row.tracking_numbers or row.status == Fulfillment.Status.CANCELLED:
        return False
    tracking.update_tracking(row, tracking.complete_tracking({"number": number}), actor=actor, at=at)
    return True
