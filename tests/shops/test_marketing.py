import pytest
from django.utils import timezone

from apps.shops.domain import app_installation
from apps.shops.models import MarketingEngagement, MarketingEvent
from tests.support.api_client import ApiClient, ClientWith, get_errors
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

pytestmark = pytest.mark.usefixtures("in_shop")
PATH = "marketing_events.json"
EVENT = {
    "started_at": "2026-12-15",
    "utm_campaign": "Christmas",
    "utm_source": "mail",
    "utm_medium": "email",
    "event_type": "newsletter",
    "referring_domain": "mail.example",
    "marketing_channel": "email",
    "paid": False,
}
DAY = {"occurred_on": "2026-12-15", "views_count": 10, "clicks_count": 3, "ad_spend": 1.5, "is_cumulative": True}


def create_event(api: ApiClient, **fields: object) -> JsonObject:
    response = api.post(PATH, {"marketing_event": {**EVENT, **fields}})
    assert response.status_code == 201, response.content
    assert_fits("marketing_event", f"POST /{PATH}", response.json())
    return response.json()["marketing_event"]


def test_apps_create_read_change_and_delete_events(api: ApiClient) -> None:
    budget = {"budget": "500", "currency": "USD", "budget_type": "lifetime", "remote_id": "1000"}
    event = create_event(api, marketed_resources=[{"type": "product", "id": 7}], **budget)
    path = f"marketing_events/{event['id']}.json"

    listed = api.get(PATH).json()
    assert_fits("marketing_event", f"GET /{PATH}", listed)
    assert listed == {"marketing_events": [event]}
    assert api.get("marketing_events/count.json").json() == {"count": 1}
    changes = {
        "remote_id": "1000:2000",
        "started_at": "2026-12-02T00:00Z",
        "ended_at": "2026-12-03T00:00Z",
        "scheduled_to_end_at": "2026-12-04T00:00Z",
        "budget": "11.1",
        "budget_type": "daily",
        "currency": "cad",
        "event_type": "ad",
    }
    changed = api.put(path, {"marketing_event": changes})
    assert changed.status_code == 200, changed.content
    assert_fits("marketing_event", "PUT /marketing_events/{id}.json", changed.json())
    assert api.get(path).json() == changed.json()
    row = changed.json()["marketing_event"]
    assert (row["budget"], row["currency"], row["utm_campaign"]) == ("11.10", "CAD", "Christmas")
    assert row["marketed_resources"] == [{"type": "product", "id": 7}]
    assert api.delete(path).json() == {}
    assert api.get(path).status_code == 404


def test_a_budget_without_a_currency_is_in_the_shop_currency(api: ApiClient) -> None:
    assert create_event(api, budget="12.5")["currency"] == api.get("shop.json").json()["shop"]["currency"]


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"event_type": "party"}, {"event_type": ["is not included in the list"]}),
        ({"marketing_channel": None}, {"marketing_channel": ["can't be blank"]}),
        ({"paid": None}, {"paid": ["can't be blank"]}),
        ({"started_at": "soon"}, {"started_at": ["is invalid"]}),
        ({"budget": "1.5", "currency": "JPY"}, {"budget": ["is invalid"]}),
        ({"currency": "ABC"}, {"currency": ["is invalid"]}),
        ({"marketed_resources": [{"type": "shoe"}]}, {"marketed_resources.0.type": ["is not included in the list"]}),
    ],
)
def test_invalid_events_are_refused(api: ApiClient, fields: dict[str, object], errors: dict[str, object]) -> None:
    response = api.post(PATH, {"marketing_event": {**EVENT, **fields}})

    assert (response.status_code, get_errors(response)) == (422, errors)
    assert not MarketingEvent.objects.exists()


def test_engagements_replace_those_of_the_same_day(api: ApiClient) -> None:
    path = f"marketing_events/{create_event(api)['id']}/engagements.json"

    first = api.post(path, {"engagements": [DAY, {**DAY, "occurred_on": "2026-12-16", "views_count": 20}]})
    second = api.post(path, {"engagements": [{"occurred_on": "2026-12-15", "views_count": 11, "is_cumulative": False}]})

    assert first.status_code == 201, first.content
    assert_fits("marketing_event", "POST /marketing_events/{id}/engagements.json", first.json())
    assert [row["ad_spend"] for row in first.json()["engagements"]] == ["1.50", "1.50"]
    assert second.status_code == 201, second.content
    rows = MarketingEngagement.objects.order_by("occurred_on").values_list("views_count", "clicks_count")
    assert list(rows) == [(11, None), (20, 3)]


@pytest.mark.parametrize(
    ("days", "errors"),
    [
        ([], {"engagements": ["can't be blank"]}),
        ([DAY, DAY], {"engagements.1.occurred_on": ["has already been taken"]}),
        ([{"occurred_on": "2026-12-15"}], {"engagements.0.is_cumulative": ["can't be blank"]}),
        ([{**DAY, "occurred_on": "15.12."}], {"engagements.0.occurred_on": ["is invalid"]}),
        ([{**DAY, "ad_spend": "1.234"}], {"engagements.0.ad_spend": ["is invalid"]}),
        ([{**DAY, "utc_offset": "Berlin"}], {"engagements.0.utc_offset": ["is invalid"]}),
        ([{**DAY, "views_count": -1}], {"engagements.0.views_count": ["must be greater than or equal to 0"]}),
    ],
)
def test_invalid_engagements_are_refused(
    api: ApiClient, days: list[dict[str, object]], errors: dict[str, object]
) -> None:
    path = f"marketing_events/{create_event(api)['id']}/engagements.json"

    response = api.post(path, {"engagements": days})

    assert (response.status_code, get_errors(response)) == (422, errors)
    assert not MarketingEngagement.objects.exists()


def test_each_app_has_its_own_events(api: ApiClient, client_with: ClientWith) -> None:
    pk, other = create_event(api)["id"], client_with("write_marketing_events")

    assert other.get(PATH).json() == {"marketing_events": []}
    assert other.get("marketing_events/count.json").json() == {"count": 0}
    assert other.get(f"marketing_events/{pk}.json").status_code == 404
    assert other.put(f"marketing_events/{pk}.json", {"marketing_event": {"paid": True}}).status_code == 404
    assert other.post(f"marketing_events/{pk}/engagements.json", {"engagements": [DAY]}).status_code == 404
    assert other.delete(f"marketing_events/{pk}.json").status_code == 404
    assert MarketingEvent.objects.get().paid is False


def test_writing_needs_the_scope(client_with: ClientWith) -> None:
    reader = client_with("read_marketing_events")

    assert reader.get(PATH).status_code == 200
    assert reader.post(PATH, {"marketing_event": EVENT}).status_code == 403
    assert client_with("read_products").get(PATH).status_code == 403


def test_uninstalling_the_app_keeps_its_events(api: ApiClient) -> None:
    create_event(api)

    app_installation.uninstall_app(api.installation, actor="system", at=timezone.now())

    assert MarketingEvent.objects.count() == 1
