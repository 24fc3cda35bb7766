"""Tests that a copy of the store that an app keeps by webhooks alone equals the store.

``tests/soak/test_copies.py`` runs for longer, with concurrent writers and all processes.
"""

import json
import random

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.inventory.models import Location
from apps.webhooks.domain.engine.fan_out import create_deliveries
from apps.webhooks.models import Delivery
from tests.support.api_client import ApiClient
from tests.support.copying_app import CopyingApp, find_differences, read_store, subscribe
from tests.support.factories.inventory import make_location
from tests.support.rest.store_copies import run_waiting_work
from tests.support.store_writers import CHOICES, RandomWriter
from tests.support.types import JsonObject

WRITES = 300


def deliver_in_any_order(shop: Shop, app: CopyingApp) -> int:
    """Deliver all events in random order, as an endpoint with concurrent requests and retries may receive them."""
    while create_deliveries().events:
        pass
    with shop_scope(shop):
        deliveries = list(Delivery.objects.values_list("topic", "event_id", "payload__body"))
    random.Random(0).shuffle(deliveries)
    for topic, event_id, body in deliveries:
        app.receive(topic, event_id, json.loads(bytes(body)))
    return len(deliveries)


def test_a_copy_by_webhooks_alone_equals_the_store(shop: Shop, api: ApiClient) -> None:
    def send(method: str, path: str, body: object) -> tuple[int, JsonObject]:
        data = json.dumps(body) if body is not None else b""
        response = api.http.generic(method, api.path(path), data, "application/json")
        assert response.status_code in {200, 201, 404, 409, 422}, (method, path, response.content)
        return response.status_code, response.json()

    with shop_scope(shop):
        make_location(shop, name="Depot")
        locations = list(Location.objects.order_by("pk").values_list("pk", flat=True))
    before = read_store(lambda path: send("GET", path, None)[1])
    subscribe(api.installation, "https://copy.example/hooks")
    writers = [RandomWriter(send, seed, locations) for seed in range(3)]

    for number, choice in enumerate(CHOICES):
        choice.write(writers[number % 3])
    for number in range(WRITES):
        writers[number % 3].write()
        if number % 5 == 0:
            run_waiting_work(shop)
    run_waiting_work(shop)
    app = CopyingApp()
    delivered = deliver_in_any_order(shop, app)

    store = read_store(lambda path: send("GET", path, None)[1])
    assert find_differences(app.get_copy(), store, before) == []
    assert delivered > WRITES
    assert {resource for resource, _ in store} >= {"products", "customers", "orders", "fulfillments", "refunds"}
