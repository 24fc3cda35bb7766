from collections.abc import Iterable
from itertools import combinations

import pytest
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.fulfillment.domain import scope_filter
from apps.fulfillment.models import FulfillmentOrder
from apps.inventory.models import Location
from apps.shops.domain import app_installation
from tests.support import factories
from tests.support.api_client import ApiClient, ClientWith
from tests.support.databases.snapshots import rolled_back, snapshot_database
from tests.support.factories.fulfillment import make_fulfillment, make_fulfillment_order, make_service
from tests.support.subtests import Subtests
from tests.support.types import JsonObject

WORDS = ("merchant_managed", "assigned", "third_party")
PLACES = ("merchant", "own", "others")
COVERED = dict(zip(PLACES, WORDS, strict=True))
SIX = [f"{verb}_{word}_fulfillment_orders" for verb in ("read", "write") for word in WORDS]
SETS = [set(scopes) for size in range(len(SIX) + 1) for scopes in combinations(SIX, size)]


def can_read(scopes: set[str], word: str) -> bool:
    return bool(scopes & {f"read_{word}_fulfillment_orders", f"write_{word}_fulfillment_orders"})


def can_write(scopes: set[str], word: str) -> bool:
    return f"write_{word}_fulfillment_orders" in scopes


def test_the_sets_of_scopes_see_what_they_cover(in_shop: Shop) -> None:
    installation, strangers = (factories.make_installation(in_shop, []) for _ in range(2))
    rows = {
        "merchant": make_fulfillment_order(),
        "own": make_fulfillment_order(make_service(installation.app)),
        "others": make_fulfillment_order(make_service(strangers.app)),
    }
    placed = {index: {"assigned_location_id": row.assigned_location_id} for index, row in rows.items()}
    hears = scope_filter.create_audience_check("assigned_location_id")

    with Subtests() as subtest:
        for scopes in SETS:
            with subtest(*sorted(scopes)):
                installation.scopes = list(scopes)
                granted = installation.all_scopes
                expected = {index for index in PLACES if can_read(scopes, COVERED[index])}
                visible_condition = scope_filter.get_visible_condition(granted, installation.app_id)
                ids = set(FulfillmentOrder.objects.filter(visible_condition).values_list("pk", flat=True))
                reported_rows = {index for index, place in placed.items() if hears(place, installation.app_id, granted)}
                assert ids == {rows[index].pk for index in expected}
                assert reported_rows == expected


class ScopeScenario:
    def __init__(self, client_with: ClientWith, shop: Shop, scopes: Iterable[str] = ()) -> None:
        self.client: ApiClient = client_with(*scopes)
        self.apps = {"own": self.client.installation.app, "others": factories.make_installation(shop, []).app}

    def grant(self, scopes: Iterable[str]) -> None:
        """Replace the scopes of the client's app."""
        app, shop = self.apps["own"], self.client.installation.shop
        app_installation.install_app(app, shop, scopes=scopes, actor="system", at=timezone.now())

    def row(self, location_kind: str, status: str = "open", request: str = "unsubmitted") -> FulfillmentOrder:
        service = None if location_kind == "merchant" else make_service(self.apps[location_kind])
        return make_fulfillment_order(service, status=status, request_status=request)


MERCHANT = {
    "hold": ("open", "unsubmitted", {"fulfillment_hold": {"reason": "other"}}),
    "cancel": ("open", "unsubmitted", None),
    "release_hold": ("on_hold", "unsubmitted", None),
    "open": ("scheduled", "unsubmitted", None),
    "reschedule": ("scheduled", "unsubmitted", {"fulfillment_order": {"new_fulfill_at": "2031-03-02T12:00:00Z"}}),
    "move": ("open", "unsubmitted", {"fulfillment_order": {"new_location_id": 0}}),
}
REQUESTS = {
    "fulfillment_request": ("open", "unsubmitted", None),
    "cancellation_request": ("in_progress", "accepted", None),
}
ANSWERS = {
    "fulfillment_request/accept": ("open", "submitted", None),
    "fulfillment_request/reject": ("open", "submitted", None),
    "cancellation_request/accept": ("in_progress", "cancellation_requested", None),
    "cancellation_request/reject": ("in_progress", "cancellation_requested", None),
    "close": ("in_progress", "accepted", None),
}
ACTIONS = {**MERCHANT, **REQUESTS, **ANSWERS}
# Representative scope sets: all other sets are combinations of these sets.
CHOSEN = [
    set(),
    *({scope} for scope in SIX),
    {"write_assigned_fulfillment_orders", "write_third_party_fulfillment_orders"},
    {"read_assigned_fulfillment_orders", "write_third_party_fulfillment_orders"},
    {"write_merchant_managed_fulfillment_orders", "write_third_party_fulfillment_orders"},
    {f"write_{word}_fulfillment_orders" for word in WORDS},
    {f"read_{word}_fulfillment_orders" for word in WORDS},
]


def get_expected_status(action: str, location_kind: str, scopes: set[str]) -> int:
    """Return the response status according to ``docs/fulfillment.md``."""
    expected = ["merchant_managed", "third_party"] if action in MERCHANT else ["assigned"]
    if action in REQUESTS:
        expected = ["third_party"]
    elif action == "close":
        expected = ["merchant_managed", "assigned"]
    if not any(can_write(scopes, word) for word in expected):
        return 403
    if not can_read(scopes, COVERED[location_kind]):
        return 404
    if action in ANSWERS:
        if location_kind == "others":
            return 403
        return 200 if can_write(scopes, COVERED[location_kind]) else 403
    return 200 if can_write(scopes, "merchant_managed" if location_kind == "merchant" else "third_party") else 403


@pytest.mark.parametrize("position", PLACES)
def test_each_action_needs_its_scope(position: str, client_with: ClientWith, in_shop: Shop) -> None:
    world = ScopeScenario(client_with, in_shop)
    requests: dict[str, tuple[str, JsonObject | None]] = {}
    for action, (status, request, body) in ACTIONS.items():
        if position == "merchant" and action != "close" and action not in MERCHANT:
            continue
        row = world.row(position, status, "unsubmitted" if position == "merchant" else request)
        if action == "move":
            body = {"fulfillment_order": {"new_location_id": get_another_location(row).pk}}
        requests[action] = (f"fulfillment_orders/{row.pk}/{action}.json", body)

    with Subtests() as subtest:
        for scopes in CHOSEN:
            world.grant(scopes)
            before = snapshot_database()
            for action, (path, body) in requests.items():
                with subtest(action, *sorted(scopes)), rolled_back():
                    response = world.client.post(path, body)
                    assert response.status_code == get_expected_status(action, position, scopes)
                    assert response.status_code == 200 or snapshot_database() == before


def get_another_location(row: FulfillmentOrder) -> Location:
    location = Location.objects.exclude(pk=row.assigned_location_id).filter(active=True).order_by("pk").first()
    if location is None:
        location = make_service(factories.make_installation(row.shop, []).app).location
    return location


@pytest.mark.parametrize("position", PLACES)
def test_fulfillments_need_the_scope(position: str, client_with: ClientWith, in_shop: Shop) -> None:
    world = ScopeScenario(client_with, in_shop)
    status, request = ("open", "unsubmitted") if position == "merchant" else ("in_progress", "accepted")
    row = world.row(position, status, request)
    body: JsonObject = {"line_items_by_fulfillment_order": [{"fulfillment_order_id": row.pk}]}
    fulfillment = make_fulfillment(world.row(position, status, request))

    with Subtests() as subtest:
        for scopes in CHOSEN:
            world.grant(scopes)
            with subtest(*sorted(scopes)), rolled_back():
                response = world.client.post("fulfillments.json", {"fulfillment": body})
                loaded_response = world.client.get(f"orders/{fulfillment.order_id}/fulfillments/{fulfillment.pk}.json")
                cancelled = world.client.post(f"fulfillments/{fulfillment.pk}/cancel.json")

                works = position != "others" and can_write(scopes, COVERED[position])
                comes_in = can_write(scopes, "merchant_managed") or can_write(scopes, "assigned")
                sees = can_read(scopes, COVERED[position])
                assert response.status_code == (201 if works else 403 if not comes_in or sees else 422)
                hidden = 404 if any(can_read(scopes, word) for word in WORDS) else 403
                assert loaded_response.status_code == (200 if sees else hidden)
                third = position == "others" and can_write(scopes, "third_party")
                assert (cancelled.status_code == 200) == (works or third)


def test_the_assigned_list_is_the_apps_own(client_with: ClientWith, in_shop: Shop) -> None:
    scopes = {"read_assigned_fulfillment_orders", "read_third_party_fulfillment_orders"}
    world = ScopeScenario(client_with, in_shop, scopes)
    world.row("merchant")
    rows = {index: world.row(index, request="submitted") for index in ("own", "others")}

    fulfillment_orders = world.client.get("assigned_fulfillment_orders.json").json()["fulfillment_orders"]
    poor = client_with("read_third_party_fulfillment_orders").get("assigned_fulfillment_orders.json")

    assert [row["id"] for row in fulfillment_orders] == [rows["own"].pk]
    assert poor.status_code == 403
