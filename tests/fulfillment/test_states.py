from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.fulfillment.domain import fulfillments
from apps.fulfillment.domain.fulfillment_orders import moves, requests, states, transitions
from apps.fulfillment.domain.fulfillment_orders.states import TABLE, Action, ManagedBy, NotPossible, get_rule
from apps.fulfillment.domain.fulfillments import FulfillmentPart
from apps.fulfillment.models import FulfillmentOrder
from apps.fulfillment.models.orders import RequestStatus, Status
from tests.support import factories, fulfillment_states
from tests.support.databases.snapshots import snapshot_database
from tests.support.factories.fulfillment import make_fulfillment_order, make_service
from tests.support.factories.inventory import make_location

PAGE = Path(settings.BASE_DIR) / "docs" / "fulfillment.md"
BEGINNINGS = {("open", "unsubmitted"), ("scheduled", "unsubmitted")}
# Statuses that change when the order is canceled: no service has accepted the fulfillment order yet.
BY_THE_ORDER = {(status, request) for status in ("open", "scheduled", "on_hold") for request in RequestStatus}


def test_the_table_leads_to_the_possible_states_and_to_no_others() -> None:
    reached = {(index, *state) for index in ManagedBy for state in BEGINNINGS}
    while True:
        more_reached = set(reached)
        for index, status, request in reached:
            for rule in TABLE:
                if rule.allows((status, request), index):
                    more_reached |= {(index, str(to), str(rule.request or request)) for to in rule.to}
            if (status, request) in BY_THE_ORDER:
                more_reached.add((index, "closed", request))
        if more_reached == reached:
            break
        reached = more_reached

    assert {(status, request) for _, status, request in reached} == set(fulfillment_states.iterate_states())


def test_actions_have_at_most_one_rule_for_a_state() -> None:
    for index, *state in product(ManagedBy, Status, RequestStatus):
        actions = [rule.action for rule in TABLE if rule.allows((state[0], state[1]), index)]
        assert len(actions) == len(set(actions))


def test_a_refusal_names_both_states() -> None:
    with pytest.raises(NotPossible, match=r"hold is not possible: .* is in_progress and its request accepted"):
        get_rule(Action.HOLD, ("in_progress", "accepted"), ManagedBy.SERVICE)


def test_the_page_shows_the_table() -> None:
    text = PAGE.read_text()

    assert fulfillment_states.render_diagram() in text
    assert fulfillment_states.render_table() in text


Do = Callable[[FulfillmentOrder, Attrs], object]


def _by() -> Attrs:
    return {"actor": "system", "at": timezone.now()}


def _later() -> datetime:
    return timezone.now() + timedelta(days=3)


DO: dict[Action, Do] = {
    Action.CREATE_FULFILLMENT: lambda row, _: fulfillments.create_fulfillment([FulfillmentPart(row)], **_by()),
    Action.REQUEST_FULFILLMENT: lambda row, _: requests.request_fulfillment(row, **_by()),
    Action.ACCEPT_FULFILLMENT_REQUEST: lambda row, _: requests.accept_request(row, **_by()),
    Action.REJECT_FULFILLMENT_REQUEST: lambda row, _: requests.reject_request(row, **_by()),
    Action.REQUEST_CANCELLATION: lambda row, _: requests.request_cancellation(row, **_by()),
    Action.ACCEPT_CANCELLATION_REQUEST: lambda row, _: requests.accept_cancellation(row, **_by()),
    Action.REJECT_CANCELLATION_REQUEST: lambda row, _: requests.reject_cancellation(row, **_by()),
    Action.CANCEL: lambda row, _: transitions.cancel_fulfillment_order(row, **_by()),
    Action.CLOSE: lambda row, _: transitions.close_fulfillment_order(row, **_by()),
    Action.MOVE: lambda row, world: moves.move_to_location(row, world["other"], **_by()),
    Action.HOLD: lambda row, _: transitions.hold_fulfillment_order(row, reason="other", **_by()),
    Action.RELEASE_HOLD: lambda row, _: transitions.release_hold(row, **_by()),
    Action.MARK_AS_OPEN: lambda row, _: transitions.mark_as_open(row, **_by()),
    Action.RESCHEDULE: lambda row, _: transitions.reschedule_fulfillment_order(row, fulfill_at=_later(), **_by()),
    Action.SET_DEADLINE: lambda row, _: transitions.set_deadlines(
        FulfillmentOrder.objects.all(), [row.pk], fulfill_by=_later(), **_by()
    ),
}


@pytest.mark.parametrize("position", ManagedBy)
@pytest.mark.parametrize("state", list(fulfillment_states.iterate_states()), ids="/".join)
def test_other_than_supported_actions_change_nothing(
    state: tuple[str, str], position: ManagedBy, in_shop: Shop
) -> None:
    service = make_service(factories.make_installation(in_shop, []).app) if position is ManagedBy.SERVICE else None
    other = make_location(in_shop, name="Depot").pk
    supported = states.get_supported_actions(state, position)

    for action, do in DO.items():
        row = make_fulfillment_order(service, status=state[0], request_status=state[1])
        if action in supported:
            do(row, {"other": other})
            row.refresh_from_db()
            rule = get_rule(action, state, position)
            assert not rule.to or row.status in rule.to
            assert row.request_status == (rule.request or state[1])
        else:
            before = snapshot_database()
            with pytest.raises(NotPossible):
                do(row, {"other": other})
            assert snapshot_database() == before
