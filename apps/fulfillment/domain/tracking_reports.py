"""What a service says of the parcels that it sent without a number: asked for by name, read strictly, then set."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from apps.fulfillment.domain import tracking
from apps.fulfillment.domain.answers import AnswerRefused, object_of, shown
from apps.fulfillment.models import Fulfillment, FulfillmentService
from apps.ground.errors import Gone

MAX_NUMBER = 255
# So many at once, the latest first, fit into an address; nobody tells the number of a parcel that is older.
MOST = 100
LATEST = timedelta(days=60)
_NAMED = 10


@dataclass(slots=True)
class Report:
    """What became of a report.

    Attributes:
        changed: How many fulfillments got a number.
        unknown: Names that nobody asked for.
    """

    changed: int = 0
    unknown: Sequence[str] = field(default_factory=list)

    @property
    def message(self) -> str:
        """What was left out, for people; blank where nothing was."""
        if not self.unknown:
            return ""
        names = ", ".join(map(shown, self.unknown[:_NAMED]))
        return f"{len(self.unknown)} of the names were not asked for: {names}{' …' * (len(self.unknown) > _NAMED)}."


def waiting_for(service: FulfillmentService, at: datetime) -> QuerySet[Fulfillment]:
    """What a service sent lately, and that has no number yet; the latest first."""
    sent = Fulfillment.objects.filter(location_id=service.location_id, created_at__gt=at - LATEST, tracking_numbers=[])
    return sent.exclude(status=Fulfillment.Status.CANCELLED).order_by("-pk")


def read_numbers(body: bytes) -> dict[str, str]:
    """The tracking numbers of an answer, by the name of the fulfillment.

    Raises:
        AnswerRefused: It is not ``{"tracking_numbers": {"<name>": "<number>"}, "success": true, "message": ""}``.
    """
    answer = object_of(body)
    if answer.get("success", True) is not True:
        raise AnswerRefused(f"The service has none to tell: {shown(str(answer.get('message', '')))}")
    numbers = answer.get("tracking_numbers")
    if not isinstance(numbers, Mapping):
        raise AnswerRefused("The tracking numbers are no JSON object.")
    return {name: _number(name, value) for name, value in numbers.items()}


def _number(name: str, value: object) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not (text and len(text) <= MAX_NUMBER and text.isprintable()):
        raise AnswerRefused(f"The tracking number of {shown(name)} is no text of 1 to {MAX_NUMBER} characters.")
    return text


def apply_numbers(
    service: FulfillmentService, numbers: Mapping[str, str], *, hold: Callable[[], None], at: datetime
) -> Report:
    """Give fulfillments that wait for it the number that a service tells.

    Args:
        service: Whose report it is.
        numbers: By the name of the fulfillment.
        hold: Called at the beginning of each transaction; raises where the report is out of date.
        at: When.
    """
    waiting = {row.name: row for row in waiting_for(service, at)[:MOST]}
    report = Report(unknown=sorted(numbers.keys() - waiting.keys()))
    for name in sorted(numbers.keys() & waiting.keys()):
        with transaction.atomic():
            hold()
            report.changed += _give(waiting[name], numbers[name], actor=f"app:{service.app_id}", at=at)
    return report


def _give(fulfillment: Fulfillment, number: str, *, actor: str, at: datetime) -> bool:
    """Give one fulfillment its number, unless it got one, was cancelled or deleted while the answer was on its way."""
    try:
        row = tracking.hold(fulfillment)
    except Gone:
        return False
    if row.tracking_numbers or row.status == Fulfillment.Status.CANCELLED:
        return False
    tracking.update_tracking(row, tracking.completed({"number": number}), actor=actor, at=at)
    return True
