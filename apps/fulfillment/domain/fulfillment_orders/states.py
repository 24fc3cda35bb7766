"""The state table of fulfillment orders: the actions that each side can perform in each state, and the next state.

Transitions, ``supported_actions``, the panel's buttons, and the diagram in ``docs/fulfillment.md`` all use this table.
A test compares the docs with the table.
"""

from dataclasses import dataclass
from enum import Enum, StrEnum

from apps.core.exceptions import TransitionRefused
from apps.fulfillment.models.orders import UNFINISHED, RequestStatus, Status

State = tuple[str, str]
ANY_REQUEST = frozenset(RequestStatus)


class ManagedBy(Enum):
    MERCHANT = "merchant"
    SERVICE = "service"


class Side(Enum):
    """The side that performs an action: the merchant, who requests fulfillment, or the worker, who ships the items."""

    MERCHANT = "merchant"
    WORKER = "worker"


class Action(StrEnum):
    """An action on a fulfillment order. The values are the names used in ``supported_actions``."""

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


_BOTH = frozenset(ManagedBy)


@dataclass(frozen=True, slots=True)
class TransitionRule:
    """A row of the state table. ``to`` has the possible next statuses.

    ``request`` is None if the request status does not change. With ``creates_replacement``, the unfulfilled items move
    to a new fulfillment order that is open and unsubmitted.
    """

    action: Action
    side: Side
    statuses: frozenset[str]
    requests: frozenset[str] = ANY_REQUEST
    to: tuple[Status, ...] = ()
    request: RequestStatus | None = None
    places: frozenset[ManagedBy] = _BOTH
    creates_replacement: bool = False

    def allows(self, state: State, managed_by: ManagedBy) -> bool:
        return managed_by in self.places and state[0] in self.statuses and state[1] in self.requests


_R = RequestStatus
_AT_SERVICE = frozenset({ManagedBy.SERVICE})
_OPEN = frozenset({Status.OPEN})
_SCHEDULED = frozenset({Status.SCHEDULED})
_ON_HOLD = frozenset({Status.ON_HOLD})
_IN_PROGRESS = frozenset({Status.IN_PROGRESS})
_UNSUBMITTED = frozenset({_R.UNSUBMITTED})
_NOT_REQUESTED = frozenset({_R.UNSUBMITTED, _R.REJECTED, _R.CANCELLATION_ACCEPTED})
_ACCEPTED = frozenset({_R.ACCEPTED, _R.CANCELLATION_REQUESTED, _R.CANCELLATION_REJECTED})
_FULFILLED = (Status.IN_PROGRESS, Status.CLOSED)


def _create_request_rule(
    action: Action, side: Side, before: RequestStatus, status: Status, after: RequestStatus
) -> TransitionRule:
    """Create a rule for an action that changes the request status from ``before`` to ``after``."""
    statuses = _OPEN if before == RequestStatus.SUBMITTED else _IN_PROGRESS
    replaced = status == Status.CANCELLED
    return TransitionRule(action, side, statuses, frozenset({before}), (status,), after, _AT_SERVICE, replaced)


TABLE: tuple[TransitionRule, ...] = (
    TransitionRule(
        Action.CREATE_FULFILLMENT,
        Side.WORKER,
        _OPEN | _IN_PROGRESS,
        _UNSUBMITTED,
        _FULFILLED,
        places=frozenset({ManagedBy.MERCHANT}),
    ),
    TransitionRule(Action.CREATE_FULFILLMENT, Side.WORKER, _IN_PROGRESS, _ACCEPTED, _FULFILLED, places=_AT_SERVICE),
    TransitionRule(
        Action.REQUEST_FULFILLMENT, Side.MERCHANT, _OPEN, _NOT_REQUESTED, (Status.OPEN,), _R.SUBMITTED, _AT_SERVICE
    ),
    _create_request_rule(Action.ACCEPT_FULFILLMENT_REQUEST, Side.WORKER, _R.SUBMITTED, Status.IN_PROGRESS, _R.ACCEPTED),
    _create_request_rule(Action.REJECT_FULFILLMENT_REQUEST, Side.WORKER, _R.SUBMITTED, Status.OPEN, _R.REJECTED),
    _create_request_rule(
        Action.REQUEST_CANCELLATION, Side.MERCHANT, _R.ACCEPTED, Status.IN_PROGRESS, _R.CANCELLATION_REQUESTED
    ),
    _create_request_rule(
        Action.ACCEPT_CANCELLATION_REQUEST,
        Side.WORKER,
        _R.CANCELLATION_REQUESTED,
        Status.CANCELLED,
        _R.CANCELLATION_ACCEPTED,
    ),
    _create_request_rule(
        Action.REJECT_CANCELLATION_REQUEST,
        Side.WORKER,
        _R.CANCELLATION_REQUESTED,
        Status.IN_PROGRESS,
        _R.CANCELLATION_REJECTED,
    ),
    TransitionRule(
        Action.CANCEL,
        Side.MERCHANT,
        _OPEN,
        frozenset({_R.UNSUBMITTED, _R.SUBMITTED}),
        (Status.CLOSED,),
        creates_replacement=True,
    ),
    TransitionRule(
        Action.CLOSE,
        Side.WORKER,
        _IN_PROGRESS,
        to=(Status.INCOMPLETE,),
        request=_R.CLOSED,
        creates_replacement=True,
    ),
    TransitionRule(Action.MOVE, Side.MERCHANT, _OPEN, _NOT_REQUESTED, (Status.OPEN, Status.CLOSED)),
    TransitionRule(Action.HOLD, Side.MERCHANT, _OPEN | _SCHEDULED | _ON_HOLD, to=(Status.ON_HOLD,)),
    TransitionRule(Action.RELEASE_HOLD, Side.MERCHANT, _ON_HOLD, _UNSUBMITTED, (Status.OPEN, Status.SCHEDULED)),
    TransitionRule(
        Action.RELEASE_HOLD, Side.MERCHANT, _ON_HOLD, frozenset({_R.SUBMITTED, _R.REJECTED}), (Status.OPEN,)
    ),
    TransitionRule(Action.MARK_AS_OPEN, Side.MERCHANT, _SCHEDULED, to=(Status.OPEN,)),
    TransitionRule(Action.RESCHEDULE, Side.MERCHANT, _SCHEDULED, to=(Status.SCHEDULED,)),
    TransitionRule(Action.SET_DEADLINE, Side.MERCHANT, frozenset(UNFINISHED)),
)


class NotPossible(TransitionRefused):
    """Raised when the state of the fulfillment order does not allow the action."""

    def __init__(self, action: Action, state: State, managed_by: ManagedBy) -> None:
        location = "a fulfillment service's location" if managed_by is ManagedBy.SERVICE else "a location of the shop"
        status, request = state
        super().__init__(
            f"{action.value} is not possible: the fulfillment order is {status} "
            f"and its request {request}, at {location}"
        )
        self.action = action


def get_manager(*, at_service: bool) -> ManagedBy:
    return ManagedBy.SERVICE if at_service else ManagedBy.MERCHANT


def get_rule(action: Action, state: State, managed_by: ManagedBy) -> TransitionRule:
    """Return the rule that allows an action in a state, or raise ``NotPossible``."""
    for rule in TABLE:
        if rule.action is action and rule.allows(state, managed_by):
            return rule
    raise NotPossible(action, state, managed_by)


def get_supported_actions(state: State, managed_by: ManagedBy) -> list[str]:
    """List the actions of both sides that are possible in a state."""
    return [rule.action.value for rule in TABLE if rule.allows(state, managed_by)]
