from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from unittest.mock import patch

import pytest
from django.utils import timezone
from time_machine import TimeMachineFixture

from apps.core.events.models import Event
from apps.core.events.recording import audiences
from apps.core.tenancy.models import Shop
from apps.shops.domain import app_installation, charges, purchases
from apps.shops.models import AppPurchase, RecurringCharge, UsageCharge
from tests.support.api_client import ApiClient, ClientWith, get_errors
from tests.support.factories import make_charge, make_usage
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits, find_misfits

pytestmark = pytest.mark.usefixtures("in_shop")
ONCE = {"name": "Setup", "price": 49.0, "return_url": "https://app.example/done?a=1"}
RECURRING = {"name": "Pro", "price": 9.99, "return_url": "https://app.example/done"}
USAGE_ROUTE = "/recurring_application_charges/{id}/usage_charges"


@pytest.fixture
def _listened() -> Iterator[None]:
    with patch.dict(audiences, {lambda shop, topic: frozenset({"2026-10"}): None}):
        yield


def ask_once(api: ApiClient, **fields: object) -> JsonObject:
    response = api.post("application_charges.json", {"application_charge": {**ONCE, **fields}})
    assert response.status_code == 201, response.content
    assert_fits("application_charge", "POST /application_charges.json", response.json())
    return response.json()["application_charge"]


def ask(api: ApiClient, **fields: object) -> JsonObject:
    body = {"recurring_application_charge": {**RECURRING, **fields}}
    response = api.post("recurring_application_charges.json", body)
    assert response.status_code == 201, response.content
    return response.json()["recurring_application_charge"]


def approve(pk: int) -> RecurringCharge:
    charge = RecurringCharge.objects.get(pk=pk)
    return charges.decide_charge(charge, approve=True, actor="system", at=timezone.now())


def get_charge(api: ApiClient, pk: int) -> JsonObject:
    return api.get(f"recurring_application_charges/{pk}.json").json()["recurring_application_charge"]


def test_a_one_time_charge_waits_for_the_shop(api: ApiClient, shop: Shop) -> None:
    charge = ask_once(api, test=True)

    assert (charge["status"], charge["price"], charge["test"], charge["currency"]) == ("pending", "49.00", True, "USD")
    assert charge["decorated_return_url"] == f"https://app.example/done?a=1&charge_id={charge['id']}"
    page = f"/s/{shop.handle}/admin/shops/installation/{api.installation.pk}/purchases/{charge['id']}/"
    assert charge["confirmation_url"].endswith(page)
    purchases.decide_purchase(AppPurchase.objects.get(), approve=True, actor="system", at=timezone.now())
    read = api.get(f"application_charges/{charge['id']}.json").json()
    assert_fits("application_charge", "GET /application_charges/{id}.json", read)
    assert read["application_charge"]["status"] == "active"
    assert "confirmation_url" not in read["application_charge"]
    assert api.get("application_charges.json", since_id=charge["id"]).json() == {"application_charges": []}


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"name": ""}, {"name": ["can't be blank"]}),
        ({"price": 0}, {"price": ["must be greater than or equal to 0.01"]}),
        ({"price": "9.999"}, {"price": ["is invalid"]}),
        ({"return_url": "javascript:alert(1)"}, {"return_url": ["is invalid"]}),
        ({"return_url": None}, {"return_url": ["can't be blank"]}),
    ],
)
def test_invalid_charges_are_refused(api: ApiClient, fields: dict[str, object], errors: dict[str, object]) -> None:
    response = api.post("application_charges.json", {"application_charge": {**ONCE, **fields}})

    assert (response.status_code, get_errors(response)) == (422, errors)
    assert not AppPurchase.objects.exists()


def test_an_approved_charge_is_active_with_a_trial(api: ApiClient, time_machine: TimeMachineFixture) -> None:
    time_machine.move_to("2026-03-01T18:00:00Z", tick=False)
    charge = ask(api, trial_days=7, capped_amount=100)
    route = "POST /recurring_application_charges.json"
    assert find_misfits("recurring_application_charge", route, {"recurring_application_charge": charge}) == []
    path = f"recurring_application_charges/{charge['id']}/activate.json"
    assert api.post(path).status_code == 422

    approve(charge["id"])

    active = get_charge(api, charge["id"])
    dates = [active[name] for name in ("activated_on", "trial_ends_on", "billing_on", "cancelled_on")]
    assert (active["status"], dates) == ("active", ["2026-03-01", "2026-03-08", "2026-03-08", None])
    assert api.post(path).json()["recurring_application_charge"] == active
    time_machine.move_to("2026-03-09T18:00:00Z", tick=False)
    assert get_charge(api, charge["id"])["billing_on"] == "2026-04-07"


def test_a_new_charge_replaces_the_active_one(api: ApiClient) -> None:
    first, second = ask(api), ask(api, price=19)
    approve(first["id"])

    approve(second["id"])

    statuses = dict(RecurringCharge.objects.values_list("pk", "status"))
    assert statuses == {first["id"]: "cancelled", second["id"]: "active"}
    recorded = [event.changes["status"][1] for event in Event.objects.filter(topic=charges.TOPIC).order_by("pk")]
    assert recorded == ["pending", "pending", "active", "cancelled", "active"]


def test_apps_cancel_their_charges(api: ApiClient) -> None:
    charge = ask(api)
    path = f"recurring_application_charges/{charge['id']}.json"

    assert api.delete(path).json() == {}
    response = api.delete(path)
    assert (response.status_code, get_errors(response)) == (422, {"base": ["The charge is canceled."]})
    with pytest.raises(charges.ChargeRefused):
        approve(charge["id"])


def test_usage_stays_within_the_capped_amount_of_each_period(api: ApiClient, time_machine: TimeMachineFixture) -> None:
    time_machine.move_to("2026-03-01T18:00:00Z", tick=False)
    charge = ask(api, capped_amount=100, terms="$1 per email")
    assert (charge["balance_used"], charge["balance_remaining"]) == (0, "100.00")
    below = f"recurring_application_charges/{charge['id']}/usage_charges"
    body = {"usage_charge": {"description": "Emails", "price": "60.00"}}
    assert api.post(f"{below}.json", body).status_code == 422
    approve(charge["id"])

    first, second = api.post(f"{below}.json", body), api.post(f"{below}.json", body)

    assert first.status_code == 201, first.content
    assert_fits("usage_charge", f"POST {USAGE_ROUTE}.json", first.json())
    assert first.json()["usage_charge"]["balance_remaining"] == "40.00"
    message = "must be at most 40.00, the balance remaining in this period"
    assert (second.status_code, get_errors(second)) == (422, {"price": [message]})
    assert UsageCharge.objects.count() == 1
    time_machine.move_to("2026-03-31T18:00:00Z", tick=False)
    assert get_charge(api, charge["id"])["balance_used"] == "0.00"
    assert api.post(f"{below}.json", body).status_code == 201
    listed = api.get(f"{below}.json").json()
    assert_fits("usage_charge", f"GET {USAGE_ROUTE}.json", listed)
    assert len(listed["usage_charges"]) == 2


def test_charges_without_a_capped_amount_have_no_usage(api: ApiClient) -> None:
    charge = ask(api)
    approve(charge["id"])

    path = f"recurring_application_charges/{charge['id']}/usage_charges.json"
    response = api.post(path, {"usage_charge": {"description": "Emails", "price": "1.00"}})

    assert response.status_code == 422
    assert not UsageCharge.objects.exists()


def test_the_shop_approves_a_higher_capped_amount(api: ApiClient) -> None:
    charge = ask(api, capped_amount=100)
    approve(charge["id"])
    path = f"recurring_application_charges/{charge['id']}/customize.json"

    lower = api.put(f"{path}?recurring_application_charge[capped_amount]=50")
    response = api.put(f"{path}?recurring_application_charge[capped_amount]=200")

    assert lower.status_code == 422
    route = "PUT /recurring_application_charges/{id}/customize.json"
    assert_fits("recurring_application_charge", route, response.json())
    asked = response.json()["recurring_application_charge"]
    assert asked["capped_amount"] == "100.00"
    assert asked["update_capped_amount_url"].endswith(f"/charges/{charge['id']}/")
    row = RecurringCharge.objects.get()
    decide = partial(charges.decide_capped_amount, row, approve=True, actor="system", at=timezone.now())
    with pytest.raises(charges.ChargeRefused, match="has changed"):
        decide(requested="150.000")
    decide(requested="200.000")
    changes = [event.changes for event in Event.objects.filter(topic=charges.TOPIC).order_by("id")[2:]]
    assert [set(change) for change in changes] == [
        {"requested_capped_amount"},
        {"requested_capped_amount", "capped_amount"},
    ]
    raised = get_charge(api, charge["id"])
    assert (raised["capped_amount"], "update_capped_amount_url" in raised) == ("200.00", False)


def test_amounts_are_shown_in_the_currency_of_the_charge(api: ApiClient, shop: Shop) -> None:
    purchase = ask_once(api)
    Shop.objects.filter(pk=shop.pk).update(currency="JPY")

    shown = api.get(f"application_charges/{purchase['id']}.json").json()["application_charge"]

    assert (shown["price"], shown["currency"]) == ("49.00", "USD")


@pytest.mark.usefixtures("_listened")
def test_events_report_the_usage_of_the_current_period(api: ApiClient, time_machine: TimeMachineFixture) -> None:
    time_machine.move_to("2026-03-01T18:00:00Z", tick=False)
    charge = ask(api, capped_amount=100)
    approve(charge["id"])
    body = {"usage_charge": {"description": "Emails", "price": "60.00"}}
    api.post(f"recurring_application_charges/{charge['id']}/usage_charges.json", body)
    time_machine.move_to("2026-03-31T18:00:00Z", tick=False)

    api.delete(f"recurring_application_charges/{charge['id']}.json")

    event = Event.objects.filter(topic=charges.TOPIC).order_by("id").last()
    assert event is not None
    assert event.payload is not None
    assert event.payload["2026-10"]["app_subscription"]["balance_used"] == "0.00"


def test_each_app_sees_its_own_charges(api: ApiClient, client_with: ClientWith) -> None:
    ask_once(api)
    charge, other = make_charge(api.installation, approved=True), client_with()
    make_usage(charge)

    assert other.get("application_charges.json").json() == {"application_charges": []}
    assert other.get("recurring_application_charges.json").json() == {"recurring_application_charges": []}
    assert other.get(f"recurring_application_charges/{charge.pk}/usage_charges.json").status_code == 404
    assert other.delete(f"recurring_application_charges/{charge.pk}.json").status_code == 404


def test_undecided_charges_expire_and_uninstalling_cancels(api: ApiClient) -> None:
    now = timezone.now()
    late, active = make_charge(api.installation), make_charge(api.installation, approved=True)
    RecurringCharge.objects.filter(pk=late.pk).update(created_at=now - timedelta(days=2))

    assert charges.expire_charges(now) == 1
    app_installation.uninstall_app(api.installation, actor="system", at=now)

    assert dict(RecurringCharge.objects.values_list("pk", "status")) == {late.pk: "expired", active.pk: "cancelled"}


@pytest.mark.usefixtures("_listened")
def test_apps_learn_when_usage_approaches_the_capped_amount(api: ApiClient) -> None:
    charge = make_charge(api.installation, approved=True)
    for price in ("89.99", "0.01", "1.00"):
        make_usage(charge, price)

    event = Event.objects.get(topic=charges.LIMIT_TOPIC)
    assert event.payload is not None
    assert event.payload["2026-10"]["app_subscription"]["balance_used"] == "90.00"
