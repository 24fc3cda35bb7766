from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.core.events import redaction
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.orders.domain import updates
from tests.support.api_client import ApiClient, ClientWith
from tests.support.databases.event_triggers import drop_event_triggers
from tests.support.factories.orders import make_order
from tests.support.wire_tables import assert_fits

pytestmark = pytest.mark.usefixtures("in_shop")


@pytest.fixture
def product(api: ApiClient) -> int:
    return api.post("products.json", {"product": {"title": "Mug"}}).json()["product"]["id"]


def test_wire_of_every_route(api: ApiClient, product: int) -> None:
    body = api.get("events.json").json()
    pk = body["events"][0]["id"]

    assert_fits("event", "GET /events.json", body)
    assert_fits("event", "GET /events/count.json", api.get("events/count.json").json())
    assert_fits("event", "GET /events/{id}.json", api.get(f"events/{pk}.json").json())
    of_product = api.get(f"products/{product}/events.json").json()
    assert_fits("event", "GET /products/{id}/events.json", of_product)
    assert [event["verb"] for event in of_product["events"]] == ["create"]


def test_an_app_sees_what_its_scopes_read(client_with: ClientWith, shop: Shop, product: int) -> None:
    order = make_order(shop)
    updates.add_comment(order, "Call back", actor="system", at=timezone.now())
    comment = Event.objects.get(topic="orders/comment")

    def types(*scopes: str) -> set[str]:
        return {event["subject_type"] for event in client_with(*scopes).get("events.json", limit=250).json()["events"]}

    assert types("read_orders") == {"Order"}
    assert types("read_content") == set()
    assert "Product" in types("read_products")
    reader = client_with("read_orders")
    assert reader.get("events/count.json").json() == {"count": 1}
    assert reader.get(f"events/{comment.pk}.json").status_code == 404
    assert reader.get(f"products/{product}/events.json").status_code == 403


def test_the_list_takes_its_filters(api: ApiClient, shop: Shop, product: int) -> None:
    order = make_order(shop)
    api.post(f"orders/{order.pk}/close.json")
    api.delete(f"orders/{order.pk}.json")

    def verbs(**query: object) -> list[str]:
        return [event["verb"] for event in api.get("events.json", **query).json()["events"]]

    assert verbs(filter="Order") == ["create", "update", "destroy"]
    assert verbs(filter="Order", verb="destroy") == ["destroy"]
    assert set(verbs(filter="Order,Product", verb="create")) == {"create"}
    assert verbs(filter="Nothing") == verbs(created_at_min="2999-01-01") == []
    assert api.get("events.json", created_at_min="x").status_code == 400


@pytest.fixture
def old_events(shop: Shop) -> list[Event]:
    yesterday = timezone.now() - timedelta(days=1)
    return Event.objects.bulk_create(
        Event(
            shop=shop,
            topic="products/create",
            subject_type="catalog.product",
            subject_id=number,
            actor="system",
            group=uuid4(),
            created_at=yesterday,
        )
        for number in range(3)
    )


def count_events(client: ApiClient, **query: object) -> int:
    return int(client.get("events/count.json", **query).json()["count"])


@pytest.mark.usefixtures("old_events")
def test_counted_events_are_not_counted_again_and_new_ones_are(api: ApiClient, other_shop_api: ApiClient) -> None:
    before, of_products, foreign = count_events(api), count_events(api, filter="Product"), count_events(other_shop_api)
    with CaptureQueriesContext(connection) as queries:
        assert count_events(api, filter="Product") == of_products >= 3
    assert any('"id" > ' in query["sql"] and "COUNT" in query["sql"] for query in queries)

    api.post("products.json", {"product": {"title": "Mug"}})

    new_count = count_events(api) - before
    assert new_count >= 1
    assert (count_events(api, filter="Product"), count_events(api, filter="Order")) == (of_products + 1, 0)
    assert count_events(api, verb="confirmed") == count_events(api, filter="Nothing") == 0
    assert count_events(api, since_id=api.get("events.json", limit=250).json()["events"][-1]["id"]) == 0
    assert count_events(other_shop_api) == foreign


@pytest.mark.usefixtures("old_events")
def test_many_new_events_are_counted_once(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.core.events.counts.REFRESH_THRESHOLD", 3)
    before = count_events(api, filter="Product")
    for event in Event.objects.filter(subject_type="catalog.product"):
        Event.objects.create(
            **{name: getattr(event, name) for name in ("shop", "topic", "subject_type", "subject_id", "actor")},
            group=uuid4(),
            created_at=event.created_at,
        )
    newest = Event.objects.latest("id").pk
    assert count_events(api, filter="Product") == 2 * before

    with CaptureQueriesContext(connection) as queries:
        assert count_events(api, filter="Product") == 2 * before

    assert any(f'"id" > {newest}' in query["sql"] and "COUNT" in query["sql"] for query in queries)


def test_event_counts_are_recomputed_after_a_restore(api: ApiClient, old_events: list[Event]) -> None:
    assert count_events(api, filter="Product") == len(old_events)

    drop_event_triggers()
    Event.objects.filter(pk__in=[event.pk for event in old_events[1:]]).delete()

    assert count_events(api, filter="Product") == 1


@pytest.mark.usefixtures("old_events")
def test_events_are_counted_where_the_cache_is_away(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    count_before = count_events(api)

    def away(*_: object) -> None:
        raise ConnectionError

    monkeypatch.setattr("apps.core.cache.cache.get", away)

    assert count_events(api) == count_before


def test_an_event_was_updated_when_it_was_created(api: ApiClient, old_events: list[Event]) -> None:
    with redaction.allow_redaction():
        Event.objects.filter(pk=old_events[0].pk).update(payload=None)
    some_time_ago = (timezone.now() - timedelta(hours=1)).isoformat()

    events = api.get("events.json", updated_at_max=some_time_ago).json()["events"]

    assert [event["id"] for event in events] == [event.pk for event in old_events]
    assert count_events(api, updated_at_min=some_time_ago) == count_events(api) - len(old_events)
