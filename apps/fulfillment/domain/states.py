"""The states of a fulfillment order as one table: what may be done in which state, where, by whom, and what follows.

Whatever asks "may this be done now?" asks here: the transitions, ``supported_actions``, the panel's buttons, and the
picture in ``docs/fulfillment.md``, which a test compares with ``picture()``.
Rule: decisions, Fulfillment.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, StrEnum

from apps.fulfillment.models.orders import STATES, RequestStatus, Status
from apps.ground.errors import TransitionRefused

State = tuple[str, str]
ANY_REQUEST = frozenset(RequestStatus)


class Place(Enum):
    """Who manages the location."""

    MERCHANT = "merchant"
    SERVICE = "service"


class Side(Enum):
    """Who does it: the merchant, who asks for the work, or whoever works at the location."""

    MERCHANT = "merchant"
    WORKER = "worker"


class Action(StrEnum):
    """What can be done to a fulfillment order, by its name in ``supported_actions``."""

    CREATE_FULFILLMENT = "create_fulfillment"
    REQUEST_FULFILLMENT = "request_fulfillment"
    ACCEPT_FULFILLMENT_REQUEST = "accept_fulfillment_request"
    REJECT_FULFILLMENT_REQUEST = "reject_fulfillment_request"
    REQUEST_CANCELLATION = "request_cancellation"
    ACCEPT_CANCELLATION_REQUEST = "accept_cancellation_request"
    REJECT_CANCELLATION_REQUEST = "reject_cancellation_request"
    CANCEL = "cancel_fulfillment_order"
    CLOSE = "close"
    MOVE = "move"
    HOLD = "hold"
    RELEASE_HOLD = "release_hold"
    MARK_AS_OPEN = "mark_as_open"
    RESCHEDULE = "reschedule"
    SET_DEADLINE = "set_fulfillment_deadline"


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the table.

    Attributes:
        action: What is done.
        places: Where it can be done.
        side: Who does it.
        statuses: The statuses from which it can be done,
        requests: together with these statuses of the request.
        to: The statuses that it may lead to.
        request: The status of the request that it leads to; None where that stays.
        replaced: Whether the units that were not sent go to a new fulfillment order, open and not requested.
    """

    action: Action
    places: frozenset[Place]
    side: Side
    statuses: frozenset[str]
    requests: frozenset[str]
    to: tuple[Status, ...]
    request: RequestStatus | None = None
    replaced: bool = False

    def admits(self, state: State, place: Place) -> bool:
        """Whether it can be done in a state, at a place."""
        return place in self.places and state[0] in self.statuses and state[1] in self.requests


_BOTH = frozenset(Place)
_AT_SERVICE = frozenset({Place.SERVICE})
_OPEN = frozenset({Status.OPEN})
_WORKING = frozenset({Status.IN_PROGRESS})
_WAITING = frozenset({Status.ON_HOLD})
_NOT_ASKED = frozenset({RequestStatus.UNSUBMITTED, RequestStatus.REJECTED, RequestStatus.CANCELLATION_ACCEPTED})
_TAKEN_ON = frozenset(
    {RequestStatus.ACCEPTED, RequestStatus.CANCELLATION_REQUESTED, RequestStatus.CANCELLATION_REJECTED}
)


def _asked(action: Action, side: Side, before: RequestStatus, status: Status, after: RequestStatus) -> Rule:
    """A rule about a request that lies at a service."""
    statuses = _OPEN if before == RequestStatus.SUBMITTED else _WORKING
    replaced = status == Status.CANCELLED
    return Rule(action, _AT_SERVICE, side, statuses, frozenset({before}), (status,), after, replaced)


TABLE: tuple[Rule, ...] = (
    Rule(
        Action.CREATE_FULFILLMENT,
        frozenset({Place.MERCHANT}),
        Side.WORKER,
        _OPEN | _WORKING,
        frozenset({RequestStatus.UNSUBMITTED}),
        (Status.IN_PROGRESS, Status.CLOSED),
    ),
    Rule(
        Action.CREATE_FULFILLMENT,
        _AT_SERVICE,
        Side.WORKER,
        _WORKING,
        _TAKEN_ON,
        (Status.IN_PROGRESS, Status.CLOSED),
    ),
    Rule(
        Action.REQUEST_FULFILLMENT,
        _AT_SERVICE,
        Side.MERCHANT,
        _OPEN,
        _NOT_ASKED,
        (Status.OPEN,),
        RequestStatus.SUBMITTED,
    ),
    _asked(
        Action.ACCEPT_FULFILLMENT_REQUEST,
        Side.WORKER,
        RequestStatus.SUBMITTED,
        Status.IN_PROGRESS,
        RequestStatus.ACCEPTED,
    ),
    _asked(
        Action.REJECT_FULFILLMENT_REQUEST, Side.WORKER, RequestStatus.SUBMITTED, Status.OPEN, RequestStatus.REJECTED
    ),
    _asked(
        Action.REQUEST_CANCELLATION,
        Side.MERCHANT,
        RequestStatus.ACCEPTED,
        Status.IN_PROGRESS,
        RequestStatus.CANCELLATION_REQUESTED,
    ),
    _asked(
        Action.ACCEPT_CANCELLATION_REQUEST,
        Side.WORKER,
        RequestStatus.CANCELLATION_REQUESTED,
        Status.CANCELLED,
        RequestStatus.CANCELLATION_ACCEPTED,
    ),
    _asked(
        Action.REJECT_CANCELLATION_REQUEST,
        Side.WORKER,
        RequestStatus.CANCELLATION_REQUESTED,
        Status.IN_PROGRESS,
        RequestStatus.CANCELLATION_REJECTED,
    ),
    Rule(
        Action.CANCEL,
        _BOTH,
        Side.MERCHANT,
        _OPEN,
        frozenset({RequestStatus.UNSUBMITTED, RequestStatus.SUBMITTED}),
        (Status.CLOSED,),
        replaced=True,
    ),
    Rule(
        Action.CLOSE,
        _BOTH,
        Side.WORKER,
        _WORKING,
        ANY_REQUEST,
        (Status.INCOMPLETE,),
        RequestStatus.CLOSED,
        replaced=True,
    ),
    Rule(Action.MOVE, _BOTH, Side.MERCHANT, _OPEN, _NOT_ASKED, (Status.OPEN, Status.CLOSED)),
    Rule(
        Action.HOLD,
        _BOTH,
        Side.MERCHANT,
        frozenset({Status.OPEN, Status.SCHEDULED, Status.ON_HOLD}),
        ANY_REQUEST,
        (Status.ON_HOLD,),
    ),
    Rule(
        Action.RELEASE_HOLD,
        _BOTH,
        Side.MERCHANT,
        _WAITING,
        frozenset({RequestStatus.UNSUBMITTED}),
        (Status.OPEN, Status.SCHEDULED),
    ),
    Rule(
        Action.RELEASE_HOLD,
        _BOTH,
        Side.MERCHANT,
        _WAITING,
        frozenset({RequestStatus.SUBMITTED, RequestStatus.REJECTED}),
        (Status.OPEN,),
    ),
    Rule(Action.MARK_AS_OPEN, _BOTH, Side.MERCHANT, frozenset({Status.SCHEDULED}), ANY_REQUEST, (Status.OPEN,)),
    Rule(Action.RESCHEDULE, _BOTH, Side.MERCHANT, frozenset({Status.SCHEDULED}), ANY_REQUEST, (Status.SCHEDULED,)),
    Rule(
        Action.SET_DEADLINE,
        _BOTH,
        Side.MERCHANT,
        frozenset({Status.OPEN, Status.SCHEDULED, Status.ON_HOLD, Status.IN_PROGRESS}),
        ANY_REQUEST,
        (),
    ),
)


class NotPossible(TransitionRefused):
    """The state of the fulfillment order does not allow the action."""

    code = "fulfillment_order_state"

    def __init__(self, action: Action, state: State, place: Place) -> None:
        """Say what was asked, and name both states."""
        where = "a fulfillment service's location" if place is Place.SERVICE else "a location of the merchant's"
        status, request = state
        super().__init__(
            f"{action.value} is not possible: the fulfillment order is {status} and its request {request}, at {where}"
        )
        self.action = action


def place_of(*, at_service: bool) -> Place:
    """Who manages a location, by whether a fulfillment service has it."""
    return Place.SERVICE if at_service else Place.MERCHANT


def rule_for(action: Action, state: State, place: Place) -> Rule:
    """The line of the table by which an action can be done now.

    Raises:
        NotPossible: There is none.
    """
    for rule in TABLE:
        if rule.action is action and rule.admits(state, place):
            return rule
    raise NotPossible(action, state, place)


def supported_actions(state: State, place: Place) -> list[str]:
    """What can be done now, by the side whose turn it is; nothing else can."""
    return [rule.action.value for rule in TABLE if rule.admits(state, place)]


def side_of(action: Action) -> Side:
    """Who does it."""
    return next(rule.side for rule in TABLE if rule.action is action)


def possible_states() -> Iterator[State]:
    """All states that there are."""
    for status, requests in STATES.items():
        for request in requests:
            yield status, request


_SHOWN_BEFORE = tuple(STATES)


def picture() -> str:
    """The table as a state diagram, in Mermaid's language."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for rule in TABLE:
        for before in sorted(rule.statuses, key=_SHOWN_BEFORE.index):
            for after in rule.to:
                label = arrows.setdefault((before, after), [])
                if rule.action.value not in label:
                    label.append(rule.action.value)
    lines = ["stateDiagram-v2", "    [*] --> open: routing", "    [*] --> scheduled: routing, to be sent later"]
    lines += [f"    {before} --> {after}: {', '.join(names)}" for (before, after), names in arrows.items()]
    return "\n".join([*lines, *(f"    {end} --> [*]" for end in ("closed", "incomplete", "cancelled"))])


def listing() -> str:
    """The table as a Markdown table."""
    rows = ["| action | where | by | from | to |", "|---|---|---|---|---|"]
    for rule in TABLE:
        where = "everywhere" if rule.places == _BOTH else next(iter(rule.places)).value
        before = _words(rule.statuses, _SHOWN_BEFORE)
        if rule.requests != ANY_REQUEST:
            before += f" / {_words(rule.requests, tuple(RequestStatus))}"
        after = " or ".join(rule.to) or "stays"
        after += f" / {rule.request}" if rule.request else ""
        after += "; what was not sent goes to a new one" if rule.replaced else ""
        rows.append(f"| `{rule.action.value}` | {where} | {rule.side.value} | {before} | {after} |")
    return "\n".join(rows)


def _words(found: Iterable[str], order: tuple[str, ...]) -> str:
    return ", ".join(sorted((str(each) for each in found), key=[str(each) for each in order].index))
