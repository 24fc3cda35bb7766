"""Property tests: orders with any history are equal, field by field, after an export and an import into another shop.

Hypothesis draws the histories: four currencies, edits, payments, fulfillments, holds, requests to a fulfillment
service, refunds of every restock type and cancellations. An order is compared as the REST API shows it, with its
refunds, fulfillments and their events, transactions and fulfillment orders.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from apps.core.jobs import consistency_checks
from apps.core.rest.reading import render_cache
from apps.core.tenancy.models import Shop, User
from apps.core.tenancy.scope import shop_scope
from apps.orders.models import Order
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.factories.fulfillment import make_service
from tests.support.factories.inventory import get_first_location, make_location
from tests.support.factories.orders import make_variant
from tests.support.files.import_export import export_text, import_text
from tests.support.order_histories import Histories
from tests.support.timing import scale_for_soak
from tests.support.types import Json, JsonObject

pytestmark = [pytest.mark.usefixtures("media_root"), pytest.mark.timeout(600)]

# Fields that identify an order, an object or a person in one shop only, and the time of the last change.
OTHER_IN_OTHER_SHOP = frozenset(
    {
        *("admin_graphql_api_id", "app_id", "merchant_business_entity_id", "order_status_url", "shop_id", "token"),
        *("source_identifier", "updated_at", "user_id"),
        # The other shop has no products.
        *("inventory_item_id", "product_exists", "product_id", "variant_id"),
    }
)
CHECKS = set(consistency_checks.consistency_checks) - {"lowest prices", "variant quantities"}
COMMON: dict[str, Any] = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
FEW = settings(max_examples=5, derandomize=True, phases=[Phase.generate], **COMMON)
SOAK = [pytest.mark.soak, pytest.mark.timeout(0)]
ORDERS_PER_FILE, STEPS = 5, 12
COUNTS: Counter[str] = Counter()


@dataclass(frozen=True)
class Exchange:
    """A shop with orders, and a shop without orders that has locations with the same names."""

    histories: Histories
    user: User
    source: Shop
    target: Shop
    target_api: ApiClient
    path: Path

    def export(self, form: str) -> str:
        return export_text(self.source, self.user, "orders", form)

    def import_text(self, text: str, form: str = "jsonl") -> str:
        return import_text(self.target, text, self.path, f"in.{form}")


@pytest.fixture
def exchange(shop: Shop, other_shop: Shop, api: ApiClient, other_shop_api: ApiClient, tmp_path: Path) -> Exchange:
    Shop.objects.update(timezone="UTC")
    with shop_scope(other_shop):
        make_service(other_shop_api.installation.app, name="Depot")
        make_location(other_shop, name="North")
    with shop_scope(shop):
        variants = [make_variant(shop, stock=50, sku=sku).pk for sku in ("MUG-1", "MUG-2")]
        service = make_service(api.installation.app, name="Depot")
        locations = [get_first_location(shop).pk, make_location(shop, name="North").pk, service.location_id]
    histories = Histories(api, Random(0), variants, locations, service.handle)
    user = factories.make_member(shop, "export_orders")
    return Exchange(histories, user, shop, other_shop, other_shop_api, tmp_path)


def read_orders(api: ApiClient, shop: Shop) -> dict[str, JsonObject]:
    """Return the orders by name, with ids replaced by the position of their first occurrence."""
    with shop_scope(shop):
        orders = dict(Order.objects.order_by("pk").values_list("name", "pk"))
    return {name: replace_ids(read_order(api, pk), {}) for name, pk in orders.items()}


def read_order(api: ApiClient, pk: int) -> JsonObject:
    order = api.get(f"orders/{pk}.json").json()["order"]
    parts = ("refunds", "fulfillments", "transactions", "fulfillment_orders")
    read = {name: api.get(f"orders/{pk}/{name}.json", limit=250).json()[name] for name in parts}
    for row in read["fulfillments"]:
        events = api.get(f"orders/{pk}/fulfillments/{row['id']}/events.json").json()
        row["events"] = events["fulfillment_events"]
    for row in read["fulfillment_orders"]:
        fulfillments = api.get(f"fulfillment_orders/{row['id']}/fulfillments.json").json()["fulfillments"]
        row["fulfillment_ids"] = [{"id": fulfillment["id"]} for fulfillment in fulfillments]
    customer = order["customer"]
    if customer is not None:
        # Passwords are not exported, and customers are created by the import.
        order["customer"] = {**customer, "state": None, "created_at": None}
    return {"order": order, **read}


def replace_ids(value: Json, known: dict[tuple[str, int], int], path: tuple[str, ...] = ()) -> Json:
    if isinstance(value, dict):
        items = value.items()
        return {key: replace_ids(item, known, (*path, key)) for key, item in items if key not in OTHER_IN_OTHER_SHOP}
    if isinstance(value, list):
        return [replace_ids(item, known, path) for item in value]
    if isinstance(value, int) and (path[-1] == "id" or path[-1].endswith("_id")):
        return known.setdefault((get_kind(path), value), len(known))
    return value


def get_kind(path: tuple[str, ...]) -> str:
    """Return the kind of object that an id at this path is for."""
    *parents, name = path
    if name != "id":
        kind = name.removesuffix("_id")
        return {"assigned_location": "location", "parent": "transaction"}.get(kind, kind)
    if path[:2] == ("fulfillment_orders", "line_items"):
        return "fulfillment_order_line"
    if parents[-2:] == ["refunds", "duties"]:
        return "refund_duty"
    kind = parents[-1].removesuffix("s")
    same_row = {"delivery_method": "fulfillment_order", "destination": "fulfillment_order", "dutie": "duty"}
    return {**same_row, "fulfillment_id": "fulfillment"}.get(kind, kind)


def find_differences(before: Json, after: Json, path: str = "") -> list[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        keys = sorted({*before, *after})
        return [text for key in keys for text in find_differences(before.get(key), after.get(key), f"{path}.{key}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [text for index, (old, new) in pairs for text in find_differences(old, new, f"{path}.{index}")]
    return [] if before == after else [f"{path}: {before!r} became {after!r}"]


def check_json_lines(exchange: Exchange, before: dict[str, JsonObject]) -> None:
    report = exchange.import_text(exchange.export("jsonl"))

    after = read_orders(exchange.target_api, exchange.target)
    assert report.endswith(f"Done: {len(before)} new, 0 changed, 0 skipped, 0 failed.\n"), report
    differences = find_differences(before, after)
    COUNTS["orders"] += len(before)
    COUNTS["differences"] += len(differences)
    assert differences == [], "\n".join(differences)
    with shop_scope(exchange.target):
        assert list(consistency_checks.find_differences(CHECKS)) == []


def check_csv(exchange: Exchange, before: dict[str, JsonObject]) -> None:
    """Check that each order is either refused or has the values of its CSV rows."""
    exchange.import_text(exchange.export("csv"), "csv")

    after = read_orders(exchange.target_api, exchange.target)
    for name, document in after.items():
        old, new = (select_csv_values(values["order"]) for values in (before[name], document))
        assert find_differences(old, new) == []
    whole = {name for name, document in before.items() if not find_losses(document)}
    COUNTS["orders from CSV"] += len(after)
    COUNTS["orders refused in CSV"] += len(before) - len(after)
    assert after.keys() <= whole


def find_losses(document: JsonObject) -> bool:
    """Return True if an order has parts that the CSV format does not contain."""
    order = document["order"]
    removed = [line["current_quantity"] - line["quantity"] for line in order["line_items"]]
    holds = [row["fulfillment_holds"] for row in document["fulfillment_orders"]]
    edited = any(removed) and not order["cancelled_at"]
    return edited or bool(order["refunds"] or order["fulfillments"]) or any(holds)


def select_csv_values(order: JsonObject) -> JsonObject:
    names = ("email", "note", "tags", "currency", "total_price", "total_tax", "total_discounts", "current_total_price")
    lines = ("title", "price", "quantity", "current_quantity", "fulfillable_quantity", "total_discount")
    return {
        **{name: order[name] for name in (*names, "subtotal_price", "cancelled_at", "total_tip_received")},
        "lines": [
            {name: line[name] for name in lines} | {"taxes": [tax["price"] for tax in line["tax_lines"]]}
            for line in order["line_items"]
        ],
    }


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(FEW, id="short"),
        pytest.param(settings(max_examples=scale_for_soak(1000), derandomize=False, **COMMON), id="long", marks=SOAK),
    ],
)
def test_orders_with_any_history_come_back_equal(how: settings, exchange: Exchange) -> None:
    @how
    @given(st.randoms(use_true_random=False))
    def run(random: Random) -> None:
        try:
            check_round_trips(exchange, random)
        finally:
            render_cache.cache.clear()

    run()
    assert COUNTS["differences"] == 0
    assert COUNTS["orders"] >= ORDERS_PER_FILE


def check_round_trips(exchange: Exchange, random: Random) -> None:
    exchange.histories.random = random
    with transaction.atomic():
        with shop_scope(exchange.source):
            for _ in range(ORDERS_PER_FILE):
                exchange.histories.create_order(random.randint(0, STEPS))
        before = read_orders(exchange.histories.api, exchange.source)
        for check in (check_json_lines, check_csv):
            with transaction.atomic():
                check(exchange, before)
                transaction.set_rollback(True)
            render_cache.cache.clear()
        transaction.set_rollback(True)
