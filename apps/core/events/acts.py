"""Join the events of one act, such as a request, a job or a command, to one entry of the audit log.

All events of an act have the same ``group``. Groups are UUIDs of version 7, so their order is the order in which acts
began. Acts are therefore paginated by their group, at the same cost for an act with one event and one with a million.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import BooleanField, F, Func, OuterRef, Q, QuerySet, Subquery

from apps.core.events.models import Event

SYSTEM = "system"
# The maximum number of an act's events that lists load.
MAX_EVENTS = 20
# The number of events that one query reads while it looks for acts.
WINDOW = 500
# Topics about parts and consequences, such as the inventory levels of a new product. Another event of the act describes
# the act better.
_SECONDARY_RESOURCES = frozenset(
    {
        "inventory_items",
        "inventory_levels",
        "variants",
        "product_images",
        "order_transactions",
        "tender_transactions",
        "fulfillment_events",
        "collection_listings",
        "product_listings",
    }
)
# Events of fulfillment orders are usually consequences, for example of a canceled order.
_DEPENDENT_RESOURCE = "fulfillment_orders"
# A split is usually a consequence, for example of a hold of some items.
_GENERAL_VERBS = frozenset({"update", "updated", "edited", "split"})


@dataclass(frozen=True, slots=True)
class Act:
    """Everything that one request, job or command changed.

    Attributes:
        lead: The event that describes the act best.
        others: The other events in the order in which they were recorded.
        is_complete: False if the act has more than ``MAX_EVENTS`` events.
    """

    lead: Event
    others: Sequence[Event] = ()
    is_complete: bool = True


def exclude_system(rows: QuerySet[Event]) -> QuerySet[Event]:
    """Return only events of staff and apps.

    SQLite only uses a partial index if the query contains the index's condition without parameters.
    """
    condition = Func(F("actor"), template="NOT (%(expressions)s = 'system')", output_field=BooleanField())
    return rows.filter(condition)


def find_acts(rows: QuerySet[Event], number: int, *, before: UUID | None = None) -> tuple[dict[UUID, int], bool]:
    """Return the newest acts with a matching event, and True if there are older acts.

    The acts are the groups with the id of one matching event. ``before`` is the last group of the previous page.
    """
    found: dict[UUID, int] = {}
    while len(found) <= number:
        older = rows if before is None else rows.filter(group__lt=before)
        window = list(older.order_by("-group").values_list("group", "id")[:WINDOW])
        for group, pk in window:
            found.setdefault(group, pk)
        if len(window) < WINDOW:
            break
        # The rest of the last act is skipped.
        before = window[-1][0]
    return dict(list(found.items())[:number]), len(found) > number


def load_acts(found: Mapping[UUID, int]) -> list[Act]:
    """Load acts with two queries. At most ``MAX_EVENTS`` events of each act are read."""
    of_group = Event.rows().filter(group=OuterRef("group")).order_by("id").values("id")
    first_unread = Subquery(of_group[MAX_EVENTS : MAX_EVENTS + 1])
    ends = dict(Event.rows().filter(pk__in=found.values()).annotate(end=first_unread).values_list("group", "end"))
    condition = Q(group__in=[group for group, end in ends.items() if end is None])
    for group, end in ends.items():
        if end is not None:
            condition |= Q(group=group, id__lt=end)
    events: dict[UUID, list[Event]] = {}
    if ends:
        for event in Event.rows().filter(condition).order_by("id").defer("payload"):
            events.setdefault(event.group, []).append(event)
    return [build_act(events[group], is_complete=ends[group] is None) for group in found if group in events]


def build_act(events: Iterable[Event], *, is_complete: bool = True) -> Act:
    lead, *_rest = ranked = sorted(events, key=_rank)
    return Act(lead, sorted(ranked[1:], key=lambda event: event.pk), is_complete)


def join_events(events: Iterable[Event]) -> list[Act]:
    """Join loaded events to acts, in the order of each act's first event in ``events``."""
    by_group: dict[UUID, list[Event]] = {}
    for event in events:
        by_group.setdefault(event.group, []).append(event)
    return [build_act(group_events) for group_events in by_group.values()]


def _rank(event: Event) -> tuple[bool, int, int]:
    resource, _, verb = event.topic.partition("/")
    if resource in _SECONDARY_RESOURCES or resource.endswith("_metafields"):
        weight = 3
    elif verb in _GENERAL_VERBS and not event.message:
        weight = 2
    else:
        weight = 1 if resource == _DEPENDENT_RESOURCE else 0
    return event.actor == SYSTEM, weight, event.pk
