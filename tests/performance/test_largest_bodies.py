"""Tests that the rows of a request body are written in bulk, so that the number of statements is limited."""

from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings as configured
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from apps.catalog.models import Product, Variant
from apps.core.events.models import Event
from apps.core.events.recording import audiences
from apps.core.rest.versions import LATEST
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.fulfillment.domain.fulfillment_orders import moves as location_moves
from apps.fulfillment.domain.fulfillment_orders import routing
from apps.fulfillment.models import FulfillmentOrder
from apps.inventory.domain import movements
from apps.inventory.domain.movements import OutOfStock, StockChange
from apps.inventory.models import InventoryItem, InventoryLevel, StockMovement
from apps.metafields.domain.write import MAX_NESTED
from apps.metafields.models import Metafield
from tests.support.api_client import ApiClient, Response, get_errors
from tests.support.factories.inventory import get_first_location, make_item, make_location, set_stock
from tests.support.types import JsonObject

VARIANTS = 300
# The maximum number of statements: less than a fifth of the number of rows in each request.
MOST = 60


def send_bounded(api: ApiClient, method: str, path: str, body: JsonObject | None = None) -> Response:
    """Send a request and check that it runs at most ``MOST`` statements."""
    api.get("shop.json")  # the first request with a token also stores when the token was used
    with CaptureQueriesContext(connection) as queries:
        response = api.delete(path) if method == "delete" else getattr(api, method)(path, body)
    assert response.status_code in {200, 201}, response.content[:300]
    assert len(queries) <= MOST, "\n".join(query["sql"][:100] for query in queries)
    return response


def create_product(api: ApiClient, **values: object) -> JsonObject:
    """Create a product with at most ``MOST`` statements, and return it."""
    product: JsonObject = send_bounded(api, "post", "products.json", {"product": values}).json()["product"]
    return product


def build_metafields(count: int, value: str = "text") -> list[dict[str, str]]:
    kind = "single_line_text_field"
    return [{"namespace": "many", "key": f"key{n}", "type": kind, "value": value} for n in range(count)]


def get_events(shop: Shop, **conditions: Any) -> list[tuple[str, int]]:
    with shop_scope(shop):
        rows = Event.objects.filter(**conditions).order_by("id")
        return list(rows.values_list("topic", "subject_id"))


def test_a_product_with_many_variants_is_written_in_few_statements(api: ApiClient, shop: Shop) -> None:
    variants = [{"option1": f"Size {n}", "sku": f"S{n}"} for n in range(VARIANTS)]
    created = create_product(api, title="Many", variants=variants)
    path = f"products/{created['id']}.json"
    with shop_scope(shop):
        items = list(InventoryItem.objects.order_by("id").values_list("id", flat=True))
    of_items = get_events(shop, topic="inventory_items/create")
    skus = [{"id": row["id"], "sku": f"T{n}"} for n, row in enumerate(created["variants"])]

    changed = send_bounded(api, "put", path, {"product": {"variants": skus}}).json()["product"]
    with_metafields = [{"id": row["id"], "metafields": build_metafields(1)} for row in created["variants"]]
    send_bounded(api, "put", path, {"product": {"variants": with_metafields}})
    send_bounded(api, "delete", path)

    assert [row["inventory_item_id"] for row in created["variants"]] == items
    assert of_items == [("inventory_items/create", pk) for pk in items]
    assert len(get_events(shop, topic="inventory_levels/connect")) == VARIANTS
    assert [row["sku"] for row in changed["variants"]] == [f"T{n}" for n in range(VARIANTS)]
    assert get_events(shop, topic="inventory_items/update") == [("inventory_items/update", pk) for pk in items]
    assert get_events(shop, topic="inventory_items/delete") == [("inventory_items/delete", pk) for pk in items]
    assert len(get_events(shop, topic="variant_metafields/create")) == VARIANTS
    with shop_scope(shop):
        assert not InventoryItem.objects.exists()
        assert not Metafield.objects.exists()
        change = Event.objects.filter(topic="inventory_items/update").order_by("id").values_list("changes", flat=True)
        assert list(change[:2]) == [{"sku": ["S0", "T0"]}, {"sku": ["S1", "T1"]}]


def test_many_metafields_of_one_body_take_few_statements_and_an_event_each(api: ApiClient, shop: Shop) -> None:
    created = create_product(api, title="Fields", metafields=build_metafields(125))
    new = [row | {"key": f"new{n}"} for n, row in enumerate(build_metafields(2))]
    rows = [new[0], *build_metafields(120, "other"), new[1], *build_metafields(125)[120:]]

    send_bounded(api, "put", f"products/{created['id']}.json", {"product": {"metafields": rows}})

    with shop_scope(shop):
        values = dict(Metafield.objects.values_list("key", "value"))
    assert len(values) == 127
    assert [values["key0"], values["key119"], values["key124"], values["new1"]] == ["other", "other", "text", "text"]
    happened = [topic for topic, _ in get_events(shop, topic__startswith="product_metafields/")][125:]
    create, update = "product_metafields/create", "product_metafields/update"
    assert happened == [create, *[update] * 120, create]


def test_references_of_variants_are_looked_up_together(api: ApiClient, settings: Settings) -> None:
    first = f"gid://{settings.BRAND}/Product/{create_product(api, title='First')['id']}"
    row = {"namespace": "a", "key": "b", "type": "product_reference", "value": first}

    create_product(api, title="Refers", variants=[{"option1": f"{n}", "metafields": [row]} for n in range(100)])


def test_more_metafields_of_variants_than_a_request_can_write_are_refused(api: ApiClient) -> None:
    variants = [{"option1": f"{n}", "metafields": build_metafields(100)} for n in range(MAX_NESTED // 100 + 1)]

    response = api.post("products.json", {"product": {"title": "", "variants": variants}})

    assert get_errors(response) == {
        "title": ["can't be blank"],
        "variants": [f"has too many metafields (maximum is {MAX_NESTED})"],
    }


def test_payloads_of_many_events_are_rendered_together_each_of_its_own_row(api: ApiClient, shop: Shop) -> None:
    # An audience makes the server render payloads.
    with patch.dict(audiences, {lambda shop, topic: frozenset({LATEST}): None}):
        create_product(api, title="Heard", variants=[{"option1": f"Size {n}", "sku": f"S{n}"} for n in range(100)])

    with shop_scope(shop):
        rows = Event.objects.filter(topic="inventory_items/create").order_by("id")
        payloads = [(row.subject_id, row.payload[LATEST]) for row in rows if row.payload]
    assert [payload["sku"] for _, payload in payloads] == [f"S{n}" for n in range(100)]
    assert all(payload["id"] == pk for pk, payload in payloads)


def create_counted_variants(api: ApiClient) -> list[int]:
    """Create more products than an order may take statements, and return the ids of their variants."""
    row = {"inventory_management": configured.BRAND, "inventory_policy": "continue", "price": "1.00"}
    return [create_product(api, title=f"P{n}", variants=[row])["variants"][0]["id"] for n in range(MOST + 1)]


def test_an_order_of_many_products_is_written_in_few_statements(api: ApiClient, shop: Shop) -> None:
    lines = [{"variant_id": pk, "quantity": n + 1} for n, pk in enumerate(create_counted_variants(api))]

    body = {"line_items": lines, "financial_status": "paid", "inventory_behaviour": "decrement_obeying_policy"}
    order = send_bounded(api, "post", "orders.json", {"order": body}).json()["order"]
    with shop_scope(shop):
        stock = list(Variant.objects.order_by("id").values_list("inventory_quantity", flat=True))
        units_sold = list(Product.objects.order_by("id").values_list("units_sold", flat=True))
    send_bounded(api, "post", f"orders/{order['id']}/cancel.json", {})
    send_bounded(api, "delete", f"orders/{order['id']}.json")

    assert stock == [-n for n in range(1, MOST + 2)]
    assert units_sold == list(range(1, MOST + 2))
    with shop_scope(shop):
        assert set(Variant.objects.values_list("inventory_quantity", flat=True)) == {0}
        assert set(Product.objects.values_list("units_sold", flat=True)) == {0}
        assert StockMovement.objects.count() == 2 * (MOST + 1)


def test_units_of_many_products_move_in_few_statements(api: ApiClient, shop: Shop) -> None:
    lines = [{"variant_id": pk, "quantity": 1} for pk in create_counted_variants(api)]
    body = {"line_items": lines, "inventory_behaviour": "decrement_obeying_policy"}
    order = api.post("orders.json", {"order": body}).json()["order"]
    with shop_scope(shop):
        [fulfillment_order] = routing.route_order(order["id"], at=timezone.now())
        cellar = make_location(shop, name="Cellar")
        set_stock(InventoryItem.objects.order_by("id")[0], cellar, 1)

    moved = {"fulfillment_order": {"new_location_id": cellar.pk}}
    send_bounded(api, "post", f"fulfillment_orders/{fulfillment_order.pk}/move.json", moved)

    with shop_scope(shop):
        levels = InventoryLevel.objects.filter(location=cellar).values_list("available", flat=True)
        assert sorted(levels) == [*[-1] * MOST, 0]
    assert len(get_events(shop, topic="inventory_levels/connect")) == 2 * len(lines)


def test_many_fulfillment_orders_are_sent_in_few_statements(api: ApiClient, shop: Shop) -> None:
    lines = [{"title": f"Line {n}", "price": "1.00", "quantity": 2} for n in range(MOST + 1)]
    order = api.post("orders.json", {"order": {"line_items": lines}}).json()["order"]
    with shop_scope(shop):
        [fulfillment_order] = routing.route_order(order["id"], at=timezone.now())
        yard, at = make_location(shop, name="Yard"), timezone.now()
        pks = list(fulfillment_order.lines.order_by("id").values_list("id", flat=True))
        parts = [
            location_moves.move_to_location(fulfillment_order, yard.pk, lines=[{"id": pk}], actor="system", at=at)[1]
            for pk in pks
        ]
        line_id = parts[0].lines.get().pk
    line_groups: list[Attrs] = [{"fulfillment_order_id": part.pk} for part in parts]
    line_groups[0]["fulfillment_order_line_items"] = [{"id": line_id, "quantity": 1}]

    created = send_bounded(
        api, "post", "fulfillments.json", {"fulfillment": {"line_items_by_fulfillment_order": line_groups}}
    )

    assert [line["quantity"] for line in created.json()["fulfillment"]["line_items"]] == [1, *[2] * MOST]
    with shop_scope(shop):
        states = FulfillmentOrder.objects.filter(assigned_location=yard).order_by("id").values_list("status", flat=True)
        assert list(states) == ["in_progress", *["closed"] * MOST]


def test_many_transactions_of_an_order_are_written_together_in_their_order(api: ApiClient, shop: Shop) -> None:
    sales = [{"kind": "sale", "amount": "1.00", "gateway": f"g{n}"} for n in range(MOST)]
    authorization = [{"kind": "authorization", "amount": "1.00"}, {"kind": "capture", "amount": "0.60"}]
    body = {"line_items": [{"title": "Line", "price": "100.00"}], "transactions": [*authorization, *sales]}

    order = send_bounded(api, "post", "orders.json", {"order": body}).json()["order"]

    rows = api.get(f"orders/{order['id']}/transactions.json?limit=250").json()["transactions"]
    assert [(row["kind"], row["gateway"]) for row in rows][2:] == [("sale", f"g{n}") for n in range(MOST)]
    assert rows[1]["parent_id"] == rows[0]["id"]
    assert rows[0]["total_unsettled_set"]["shop_money"]["amount"] == "0.40"
    recorded_events = get_events(shop, topic="order_transactions/create")
    assert [pk for _, pk in recorded_events] == [row["id"] for row in rows]


def test_an_impossible_change_among_many_is_named_and_none_is_made(shop: Shop) -> None:
    with shop_scope(shop):
        items = [make_item(shop) for _ in range(3)]
        location = get_first_location(shop)
        for item, units in zip(items, (5, 2, 5), strict=True):
            set_stock(item, location, units)
        moves = [StockChange(item.pk, location.pk, -3) for item in items]

        with pytest.raises(OutOfStock, match="2 available, 3 requested"), transaction.atomic():
            movements.apply_stock_changes(moves, reason=StockMovement.Reason.SALE, actor="system", at=timezone.now())

        assert list(InventoryLevel.objects.order_by("item_id").values_list("available", flat=True)) == [5, 2, 5]
