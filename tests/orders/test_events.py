"""Events over REST: what happened, to those who may know."""

from typing import Any

import pytest
from django.utils import timezone

from apps.events.models import Event
from apps.ground.tenancy import shop_scope
from apps.orders.domain import editing
from apps.shops.models import Shop
from tests.conftest import ApiClient, ClientWith
from tests.orders.factories import make_order
from tests.wire_tables import assert_fits


@pytest.fixture
def product(api: ApiClient) -> int:
    """A product made over REST."""
    return api.post("products.json", {"product": {"title": "Mug"}}).json()["product"]["id"]


def test_wire_of_every_route(api: ApiClient, product: int) -> None:
    listed = api.get("events.json").json()
    pk = listed["events"][0]["id"]

    assert_fits("event", "GET /events.json", listed)
    assert_fits("event", "GET /events/count.json", api.get("events/count.json").json())
    assert_fits("event", "GET /events/{id}.json", api.get(f"events/{pk}.json").json())
    of_product = api.get(f"products/{product}/events.json").json()
    assert_fits("event", "GET /products/{id}/events.json", of_product)
    assert [event["verb"] for event in of_product["events"]] == ["create"]


def test_an_app_sees_what_its_scopes_read(client_with: ClientWith, shop: Shop, product: int) -> None:
    order = make_order(shop)
    with shop_scope(shop):
        editing.add_comment(order, "Call back", actor="system", at=timezone.now())
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

    def verbs(**query: Any) -> list[str]:
        return [event["verb"] for event in api.get("events.json", **query).json()["events"]]

    assert verbs(filter="Order") == ["create", "update", "destroy"]
    assert verbs(filter="Order", verb="destroy") == ["destroy"]
    assert verbs(filter="Nothing") == []
    assert set(verbs(filter="Order,Product", verb="create")) == {"create"}
    assert verbs(created_at_min="2999-01-01") == []
    assert api.get("events.json", created_at_min="x").status_code == 400


def test_events_of_another_shop_do_not_exist(api: ApiClient, foreign_api: ApiClient, product: int) -> None:
    pk = api.get("events.json").json()["events"][0]["id"]

    assert foreign_api.get(f"events/{pk}.json").status_code == 404
    assert foreign_api.get(f"products/{product}/events.json").status_code == 404
    assert pk not in [event["id"] for event in foreign_api.get("events.json", limit=250).json()["events"]]


@pytest.mark.parametrize("count", [1, 3])
def test_list_costs_the_same_queries_however_many_rows(
    api: ApiClient, shop: Shop, count: int, django_assert_num_queries: Any
) -> None:
    for _ in range(count):
        api.post("orders.json", {"order": {"line_items": [{"title": "a", "price": "1.00"}]}})

    with django_assert_num_queries(4):  # token, the end of the walk, events, the apps that caused them
        response = api.get("events.json", filter="Order")

    assert len(response.json()["events"]) == count
