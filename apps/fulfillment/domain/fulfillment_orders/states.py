"""The state table of fulfillment orders: the actions that each side can perform in each state, and the next state.

Transitions, ``supported_actions``, the panel's buttons, and the diagram in ``docs/fulfillment.md`` all use this table.
A test compares the docs with the table.
"""

from dataclasses import dataclass
from enum import Enum, StrEnum

from apps.core.exceptions import TransitionRefused
from apps.fulfillment.models.orders import RequestStatus, Status

State = tuple[str, str]
ANY_REQUEST = frozenset(RequestStatus)


class ManagedBy(Enum):
    """The party that manages a location: the merchant or a fulfillment service."""

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


@dataclass(frozen=True, slots=True)
class TransitionRule:
    """A row of the state table.

    Attributes:
        action: The action.
        places: The parties that may manage the location.
        side: The side that may perform the action.
        statuses: Statuses in which the action is possible.
        requests: Request statuses in which the action is possible.
        to: The possible next statuses.
        request: The next request status, or None if the request status does not change.
        creates_replacement: True if the unfulfilled items move to a new fulfillment order that is open and unsubmitted.
    """

    action: Action
    places: frozenset[ManagedBy]
    side: Side
    statuses: frozenset[str]
    requests: frozenset[str]
    to: tuple[Status, ...]
    request: RequestStatus | None = None
    creates_replacement: bool = False

    def allows(self, state: State, managed_by: ManagedBy) -> bool:
        """Return True if the action is possible in a state, at a location that ``managed_by`` manages."""
        return managed_by in self.places and state[0] in self.statuses and state[1] in self.requests


_BOTH = frozenset(ManagedBy)
_AT_SERVICE = frozenset({ManagedBy.SERVICE})
_OPEN = frozenset({Status.OPEN})
_IN_PROGRESS = frozenset({Status.IN_PROGRESS})
_ON_HOLD = frozenset({Status.ON_HOLD})
_NOT_REQUESTED = frozenset({RequestStatus.UNSUBMITTED, RequestStatus.REJECTED, RequestStatus.CANCELLATION_ACCEPTED})
_ACCEPTED = frozenset(
    {RequestStatus.ACCEPTED, RequestStatus.CANCELLATION_REQUESTED, RequestStatus.CANCELLATION_REJECTED}
)


def _create_request_rule(
    action: Action, side: Side, before: RequestStatus, status: Status, after: RequestStatus
) -> TransitionRule:
    """Create a rule for an action on a request to a fulfillment service.

    Args:
        action: The action.
        side: The side that may perform the action.
        before: The request status in which the action is possible.
        status: The next status.
        after: The next request status.
    """
    statuses = _OPEN if before == RequestStatus.SUBMITTED else _IN_PROGRESS
    replaced = status == Status.CANCELLED
    return TransitionRule(action, _AT_SERVICE, side, statuses, frozenset({before}), (status,), after, replaced)


TABLE: tuple[TransitionRule, ...] = (
    TransitionRule(
        Action.CREATE_FULFILLMENT,
        frozenset({ManagedBy.MERCHANT}),
        Side.WORKER,
        _OPEN | _IN_PROGRESS,
        frozenset({RequestStatus.UNSUBMITTED}),
        (Status.IN_PROGRESS, Status.CLOSED),
    ),
    TransitionRule(
        Action.CREATE_FULFILLMENT,
        _AT_SERVICE,
        Side.WORKER,
        _IN_PROGRESS,
        _ACCEPTED,
        (Status.IN_PROGRESS, Status.CLOSED),
    ),
    TransitionRule(
        Action.REQUEST_FULFILLMENT,
        _AT_SERVICE,
        Side.MERCHANT,
        _OPEN,
        _NOT_REQUESTED,
        (Status.OPEN,),
        RequestStatus.SUBMITTED,
    ),
    _create_request_rule(
        Action.ACCEPT_FULFILLMENT_REQUEST,
        Side.WORKER,
        RequestStatus.SUBMITTED,
        Status.IN_PROGRESS,
        RequestStatus.ACCEPTED,
    ),
    _create_request_rule(
        Action.REJECT_FULFILLMENT_REQUEST, Side.WORKER, RequestStatus.SUBMITTED, Status.OPEN, RequestStatus.REJECTED
    ),
    _create_request_rule(
        Action.REQUEST_CANCELLATION,
        Side.MERCHANT,
        RequestStatus.ACCEPTED,
        Status.IN_PROGRESS,
        RequestStatus.CANCELLATION_REQUESTED,
    ),
    _create_request_rule(
        Action.ACCEPT_CANCELLATION_REQUEST,
        Side.WORKER,
        RequestStatus.CANCELLATION_REQUESTED,
        Status.CANCELLED,
        RequestStatus.CANCELLATION_ACCEPTED,
    ),
    _create_request_rule(
        Action.REJECT_CANCELLATION_REQUEST,
        Side.WORKER,
        RequestStatus.CANCELLATION_REQUESTED,
        Status.IN_PROGRESS,
        RequestStatus.CANCELLATION_REJECTED,
    ),
    TransitionRule(
        Action.CANCEL,
        _BOTH,
        Side.MERCHANT,
        _OPEN,
        frozenset({RequestStatus.UNSUBMITTED, RequestStatus.SUBMITTED}),
        (Status.CLOSED,),
        creates_replacement=True,
    ),
    TransitionRule(
        Action.CLOSE,
        _BOTH,
        Side.WORKER,
        _IN_PROGRESS,
        ANY_REQUEST,
        (Status.INCOMPLETE,),
        RequestStatus.CLOSED,
        creates_replacement=True,
    ),
    TransitionRule(Action.MOVE, _BOTH, Side.MERCHANT, _OPEN, _NOT_REQUESTED, (Status.OPEN, Status.CLOSED)),
    TransitionRule(
        Action.HOLD,
        _BOTH,
        Side.MERCHANT,
        frozenset({Status.OPEN, Status.SCHEDULED, Status.ON_HOLD}),
        ANY_REQUEST,
        (Status.ON_HOLD,),
    ),
    TransitionRule(
        Action.RELEASE_HOLD,
        _BOTH,
        Side.MERCHANT,
        _ON_HOLD,
        frozenset({RequestStatus.UNSUBMITTED}),
        (Status.OPEN, Status.SCHEDULED),
    ),
    TransitionRule(
        Action.RELEASE_HOLD,
        _BOTH,
        Side.MERCHANT,
        _ON_HOLD,
        frozenset({RequestStatus.SUBMITTED, RequestStatus.REJECTED}),
        (Status.OPEN,),
    ),
    TransitionRule(
        Action.MARK_AS_OPEN, _BOTH, Side.MERCHANT, frozenset({Status.SCHEDULED}), ANY_REQUEST, (Status.OPEN,)
    ),
    TransitionRule(
        Action.RESCHEDULE, _BOTH, Side.MERCHANT, frozenset({Status.SCHEDULED}), ANY_REQUEST, (Status.SCHEDULED,)
    ),
    TransitionRule(
        Action.SET_DEADLINE,
        _BOTH,
        Side.MERCHANT,
        frozenset({Status.OPEN, Status.SCHEDULED, Status.ON_HOLD, Status.IN_PROGRESS}),
        ANY_REQUEST,
        (),
    ),
)


class NotPossible(TransitionRefused):
    """Raised when the state of the fulfillment order does not allow the action."""

    code = "fulfillment_order_state"

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
    """Return the rule that allows an action in a state.

    Raises:
        NotPossible: If no rule allows the action.
    """
    for rule in TABLE:
        if rule.action is action and rule.allows(state, managed_by):
            return rule
    raise NotPossible(action, state, managed_by)


def get_supported_actions(state: State, managed_by: ManagedBy) -> list[str]:
    """List the actions of both sides that are possible in a state."""
    return [rule.action.value for rule in TABLE if rule.allows(state, managed_by)]
