"""Compare the generic plan of each prepared statement with the plan for its parameters.

PostgreSQL plans a prepared statement once, without its parameters. If the planner's guesses are wrong, this generic
plan reads many more pages than a custom plan. Guesses depend on the number of rows and on how the rows are distributed
over shops, so the statements are compared for several sizes and layouts.
"""

import base64
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from benchmarks import copies
from benchmarks.million.ids import ROOT, get_row_ids
from benchmarks.million.rest import DISCOUNT_CODE, RestRoutes

if TYPE_CHECKING:
    from django.test import Client

    from apps.core.tenancy.models import Shop

SIZES = (300, 3_000, 10_000, 30_000, 100_000, 1_000_000)
# For each layout, SQL for the number of a copy's shop. The requests are sent to shop 0.
LAYOUTS = {
    "one shop": "0",
    "fifty equal shops": "n % 50",
    "large shop of fifty": "CASE WHEN n % 20 = 0 THEN n / 20 % 50 ELSE 0 END",
    "small shop of fifty": "CASE WHEN n % 20 = 0 THEN n / 20 % 50 ELSE 1 END",
    "new shop next to a large shop": "1",
}
MAX_RATIO = 3
# Smaller costs are not compared. This number of pages and rows takes about a third of a millisecond.
LITTLE_WORK, FEW_MS = 1_200, 1.0

Parameters = Sequence[Any]
Statements = dict[str, list[Parameters]]


@dataclass(frozen=True)
class Cost:
    """The cost of a plan. ``examined`` is the number of rows that its scans read, with the rows that do not match."""

    pages: int
    examined: int
    ms: float
    plan: dict[str, Any]

    @property
    def work(self) -> int:
        return self.pages + self.examined


@dataclass(frozen=True)
class Comparison:
    """The costs of a statement with the same parameters."""

    sql: str
    generic: Cost
    custom: Cost

    @property
    def ratio(self) -> float:
        return self.generic.work / max(self.custom.work, LITTLE_WORK / MAX_RATIO)

    @property
    def is_over(self) -> bool:
        """Return True if the generic plan reads too many pages and rows, or takes too long."""
        is_longer = self.generic.ms > max(FEW_MS, MAX_RATIO * self.custom.ms)
        return self.ratio > MAX_RATIO or (is_longer and self.generic.work > self.custom.work)


@contextmanager
def record_prepared_statements() -> Iterator[Statements]:
    """Collect the prepared statements of the block, each with its shortest and its longest parameters."""
    import psycopg

    from apps.core.db.postgresql.repeated_statements import RepeatedStatements

    statements: Statements = {}

    class RecordingCursor(psycopg.Cursor[Any]):
        def execute(self, query: Any, params: Any = None, *, prepare: bool | None = None, **options: Any) -> Any:
            if prepare and not query.lstrip().startswith("INSERT"):
                known = statements.setdefault(query, [])
                known.append(list(params or ()))
                known.sort(key=lambda values: len(repr(values)))
                del known[1:-1]
            return super().execute(query, params, prepare=prepare, **options)

    with patch("psycopg.Cursor", RecordingCursor), patch.object(RepeatedStatements, "run", return_value=None):
        yield statements


def compare_plans(statements: Statements) -> list[Comparison]:
    """Run each statement with both plans, in transactions that are rolled back."""
    return [
        Comparison(sql, _measure(sql, values, "force_generic_plan"), _measure(sql, values, "force_custom_plan"))
        for sql, parameters in statements.items()
        for values in parameters
    ]


def _measure(sql: str, values: Parameters, mode: str) -> Cost:
    from django.db import connection, transaction
    from psycopg import Cursor
    from psycopg.sql import Literal

    connection.ensure_connection()
    raw = connection.connection
    prepared, types = _number_parameters(sql, values)
    arguments = ", ".join(Literal(value).as_string(raw) for value in values)
    with transaction.atomic():
        cursor = Cursor(raw)
        cursor.execute(f"SET LOCAL plan_cache_mode = {mode}".encode())
        cursor.execute(f"PREPARE compared {f'({types})' if types else ''} AS {prepared}".encode())
        explain = (
            f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE compared{f'({arguments})' if values else ''}"
        )
        costs = [_to_cost(cursor.execute(explain.encode()).fetchone()) for _ in range(2)]
        cursor.execute(b"DEALLOCATE compared")
        transaction.set_rollback(True)
    return min(costs, key=lambda cost: cost.ms)


def _number_parameters(sql: str, values: Parameters) -> tuple[str, str]:
    """Return the statement with numbered placeholders, and the parameter types that psycopg sends."""
    from django.db import connection
    from psycopg.adapt import PyFormat

    raw = connection.connection
    names = []
    for value in values:
        oid = raw.adapters.get_dumper(type(value), PyFormat.AUTO)(type(value), raw)
        oid = oid.upgrade(value, PyFormat.AUTO) if hasattr(oid, "upgrade") else oid
        found = raw.adapters.types.get(oid.oid)
        names.append("unknown" if found is None or not oid.oid else found.regtype + "[]" * (oid.oid == found.array_oid))
    numbers = count(1)
    first, *others = sql.split("%s")
    return first + "".join(f"${next(numbers)}{part}" for part in others), ", ".join(names)


def _to_cost(row: Any) -> Cost:
    ((result,),) = row
    plan = result["Plan"]
    kinds = ("Shared Hit Blocks", "Shared Read Blocks", "Temp Read Blocks", "Temp Written Blocks")
    return Cost(sum(plan[kind] for kind in kinds), _count_examined_rows(plan), result["Execution Time"], plan)


def _count_examined_rows(plan: dict[str, Any]) -> int:
    """Return the number of rows that a plan's scans read from tables."""
    names = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")
    own = sum(plan.get(name, 0) for name in names) * plan["Actual Loops"] if "Relation Name" in plan else 0
    return int(own) + sum(_count_examined_rows(part) for part in plan.get("Plans", ()))


def find_scans(plan: dict[str, Any]) -> Iterator[str]:
    """Yield the scans of a plan, each with its index or table."""
    if "Scan" in plan["Node Type"]:
        yield f"{plan['Node Type']} {plan.get('Index Name') or plan.get('Relation Name') or ''}".strip()
    for part in plan.get("Plans", ()):
        yield from find_scans(part)


def create_client(token: str) -> "Client":
    from django.test import Client

    return Client(headers={"X-Platform-Access-Token": token})


def create_originals(client: "Client", shop: "Shop") -> dict[str, int]:
    """Create a customer, a product and a fulfilled, partly refunded order; return their ids."""
    from django.utils import timezone

    from apps.core.tenancy.scope import shop_scope
    from apps.fulfillment.domain.fulfillment_orders import routing
    from apps.orders.models import OrderCounter

    post = _Poster(client)
    address = {"address1": "Storgatan 1", "city": "Lund", "zip": "22222", "country": "Sweden"}
    customer = post(
        "customers",
        first_name="Grace",
        email="grace@example.com",
        addresses=[address, address | {"address1": "Nygatan 2"}],
    )
    variants = [{"option1": size, "price": "20.00", "sku": f"MUG-{size}"} for size in ("S", "M", "L")]
    image = {"attachment": _build_picture()}
    product = post(
        "products",
        title="Mug",
        tags="kitchen, clay",
        options=[{"name": "Size"}],
        variants=variants,
        images=[image, image],
    )
    lines = [{"variant_id": variant["id"], "quantity": 2} for variant in product["variants"]]
    order = post(
        "orders",
        customer={"id": customer["id"]},
        line_items=lines,
        shipping_lines=[{"title": "Post", "price": "5.00", "code": "POST"}],
        transactions=[{"kind": "sale", "status": "success", "amount": "125.00"}],
    )
    # Skip the order numbers of the copies.
    OrderCounter._base_manager.filter(shop_id=shop.pk).update(last_number=10_000_000)
    post("smart_collections", title="Mugs", rules=[{"column": "tag", "relation": "equals", "condition": "clay"}])
    for path, owner in (("customers", customer), ("products", product), ("orders", order)):
        metafield = {"namespace": "care", "key": "note", "type": "single_line_text_field", "value": "By hand"}
        post(f"{path}/{owner['id']}/metafields", **metafield)
    with shop_scope(shop):
        fulfillment_order = routing.route_order(order["id"], at=timezone.now())[0]
    fulfillment = post("fulfillments", line_items_by_fulfillment_order=[{"fulfillment_order_id": fulfillment_order.pk}])
    events = f"orders/{order['id']}/fulfillments/{fulfillment['id']}/events"
    event = post(events, status="in_transit")
    unit = {"line_item_id": order["line_items"][0]["id"], "quantity": 1, "restock_type": "no_restock"}
    post(f"orders/{order['id']}/refunds", currency="USD", shipping={"amount": "1.00"}, refund_line_items=[unit])
    rule = post(
        "price_rules",
        title="Spring",
        value_type="percentage",
        value="-10.0",
        target_type="line_item",
        target_selection="all",
        allocation_method="across",
        customer_selection="all",
        starts_at="2026-01-01T00:00:00Z",
    )
    post(f"price_rules/{rule['id']}/discount_codes", code=DISCOUNT_CODE)
    return {
        "customers": customer["id"],
        "products": product["id"],
        "orders": order["id"],
        "inventory_items": product["variants"][0]["inventory_item_id"],
        events: event["id"],
    }


class _Poster:
    """Sends a POST request and returns the created object."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def __call__(self, path: str, **attributes: Any) -> Any:
        name = path.rpartition("/")[2].removesuffix("s")
        body = json.dumps({name: attributes})
        response = self._client.post(f"{ROOT}/{path}.json", body, content_type="application/json")
        if response.status_code >= 300:
            raise SystemExit(f"{path}: {response.status_code} {response.content[:500]!r}")
        (created,) = response.json().values()
        return created


def _build_picture() -> str:
    from PIL import Image

    file = BytesIO()
    Image.new("RGB", (2, 2)).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def send_requests(client: "Client", shop_id: int, ids: dict[str, int]) -> list[str]:
    """Send each read without filters, three pages of each list, and writes; return the failed requests."""
    from apps.core.rest.reading import render_cache

    failed = []
    for path in _list_reads(ids | get_row_ids(shop_id), ids):
        render_cache.cache.clear()
        url = path
        for _ in range(3):
            response = client.get(url)
            # The lookup of discount codes redirects. Apps have no access to staff accounts.
            if response.status_code not in {200, 303, 403}:
                failed.append(f"GET {url}: {response.status_code}")
            link = response.headers.get("Link", "")
            if 'rel="next"' not in link:
                break
            url = link[link.rindex("/admin/") : link.rindex(">")]
    for method, path, body in _build_writes(ids | {"locations": get_row_ids(shop_id)["locations"]}):
        response = client.generic(method, f"{ROOT}/{path}", json.dumps(body), content_type="application/json")
        if response.status_code >= 300:
            failed.append(f"{method} {path}: {response.status_code} {response.content[:300]!r}")
    return failed


def _list_reads(row_ids: dict[str, int], originals: dict[str, int]) -> Iterator[str]:
    description = json.loads(Path("docs/openapi.json").read_text())
    for name, path in RestRoutes(description, row_ids | originals, 1).addresses():
        # The metafield in ``row_ids`` belongs to only one of the owners.
        if "?" not in name and not name.endswith("metafields/{id}.json"):
            yield path


def _build_writes(ids: dict[str, int]) -> Iterator[tuple[str, str, Any]]:
    customer, product, order, item, location = (
        ids[name] for name in ("customers", "products", "orders", "inventory_items", "locations")
    )
    key = {"inventory_item_id": item, "location_id": location}
    address = {"address1": "Nygatan 3", "city": "Lund", "country": "Sweden"}
    yield "POST", "customers.json", {"customer": {"first_name": "Ada", "addresses": [address]}}
    yield "PUT", f"customers/{customer}.json", {"customer": {"note": "Likes tea"}}
    yield "POST", f"customers/{customer}/addresses.json", {"address": address}
    yield "POST", "products.json", {"product": {"title": "Bowl", "variants": [{"price": "3.00"}]}}
    yield "PUT", f"products/{product}.json", {"product": {"title": "Large mug"}}
    yield "POST", "inventory_levels/set.json", {**key, "available": 7}
    yield "POST", "inventory_levels/adjust.json", {**key, "available_adjustment": 1}
    lines = [{"title": "Mug", "price": "10.00", "quantity": 2}]
    yield "POST", "orders.json", {"order": {"customer": {"id": customer}, "line_items": lines}}
    yield "PUT", f"orders/{order}.json", {"order": {"note": "Ring twice"}}
    metafield = {"namespace": "care", "key": "heat", "type": "single_line_text_field", "value": "Warm"}
    yield "POST", f"orders/{order}/metafields.json", {"metafield": metafield}


def compare_layout(
    layout: str, sizes: Sequence[int], shop_id: int, token: str
) -> Iterator[tuple[int, list[Comparison]]]:
    """Multiply the rows of a new shop, and yield the comparisons of all statements at each size."""
    from django.db import transaction

    from benchmarks.million.fill import get_shop

    client = create_client(token)
    ids = create_originals(client, get_shop(shop_id))
    copied = 0
    for size in sizes:
        copies.copy_rows(shop_id, copied + 1, size, shop_offset=LAYOUTS[layout])
        copies.analyze_copies()
        copied = size
        # The rows of the writes would otherwise be copied as well.
        with transaction.atomic():
            with record_prepared_statements() as statements:
                if failed := send_requests(client, shop_id, ids):
                    raise SystemExit("\n".join(failed))
            yield size, compare_plans(statements)
            transaction.set_rollback(True)


def print_comparisons(layout: str, size: int, comparisons: Sequence[Comparison]) -> bool:
    """Print the statements over the limit as rows of a Markdown table; return True if there are any."""
    over = sorted((item for item in comparisons if item.is_over), key=lambda item: -item.ratio)
    statements = len({item.sql for item in comparisons})
    print(f"\n{layout}, {size:,} rows: {statements} statements, {len(over)} over the limit")
    for item in over:
        costs = (f"{cost.pages} pages, {cost.examined} rows, {cost.ms:.1f} ms" for cost in (item.generic, item.custom))
        print(
            f"| {item.sql[:20]} … {item.sql[item.sql.find('FROM') :][:200]} | {' | '.join(costs)} | {item.ratio:.1f} |"
        )
    return bool(over)
