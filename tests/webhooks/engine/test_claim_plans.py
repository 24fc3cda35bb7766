"""PostgreSQL must not read or sort the queue of waiting deliveries to claim some of them, however long the queue is."""

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from django.db import connection, transaction

from apps.core.db.prepared_sql import _ONLY_INDEXES, _SCANNING_NODES
from apps.core.events.models import Event
from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.scope import all_shops_scope
from apps.webhooks.domain.engine import claims, fan_out, maintenance, results
from apps.webhooks.domain.engine.dispatcher import run_leases
from apps.webhooks.models import Delivery, Endpoint
from tests.support.databases.statistics import forget_statistics, set_statistics_of_no_rows
from tests.support.webhooks import create_blogs, make_subscription

pytestmark = [pytest.mark.django_db, pytest.mark.postgres, pytest.mark.usefixtures("allow_loopback")]
URI = "http://127.0.0.1:9/"
TABLES = ("webhooks_delivery", "webhooks_endpoint", "webhooks_payload", "webhooks_subscription", "events_event")
CLAIM = (
    "bigint[], int[], text, text, uuid, int",
    "'{%d}', '{10}', 'due', 'due', '019abcde-0000-7000-8000-000000000000', 30",
)
STATEMENTS: dict[str, Callable[[], tuple[str, tuple[str, str]]]] = {
    "claim": lambda: (claims._CLAIM, CLAIM),
    "postpone": lambda: (claims._POSTPONE, ("bigint[], text, text", "'{%d}', 'due', 'due'")),
    "scan": lambda: (maintenance._SCAN.format(now="now()"), ("", "")),
    "results": lambda: (results._WRITE, ("json", """'[{"id": 1, "counts": true}]'""")),
    "extend leases": lambda: (maintenance._EXTEND_LEASES, ("int, bigint[], uuid", f"30, '{{1}}', {CLAIM[1][-42:-4]}")),
    "find work": lambda: (run_leases._FIND_WORK.replace("{now}", "now()"), ("", "")),
    "shops with pending events": lambda: (fan_out.WRITABLE_SHOPS_WITH_PENDING, ("", "")),
    "lock pending events": lambda: (fan_out._LOCK_PENDING, ("bigint[], int", "'{1}', 500")),
}
SIZES = [(10, 1), (1000, 1), (1000, 1000), (1_000_000, 1), (1_000_000, 1000)]


def fill_queue(shop: Shop, installation: Installation, rows: int, endpoints: int) -> int:
    """Copy a delivery to have up to 5,000 rows, with 2 endpoints or more per thousand rows. Return an endpoint ID."""
    make_subscription(installation, URI)
    create_blogs(shop, 1)
    fan_out.create_deliveries()
    with all_shops_scope():
        delivery = Delivery.objects.get()
        Endpoint.objects.bulk_create(
            Endpoint(shop=shop, uri=f"{URI}{number}", uri_digest=f"e{number}", host="x") for number in range(endpoints)
        )
    names = [
        str(field.column) for field in Delivery._meta.concrete_fields if field.name not in {"id", "event", "endpoint"}
    ]
    with connection.cursor() as cursor:
        forget_statistics(cursor)
        cursor.execute("DELETE FROM webhooks_delivery WHERE id <> %s", [delivery.pk])
        cursor.execute(
            f"INSERT INTO webhooks_delivery (endpoint_id, {', '.join(names)})"
            f" SELECT e.id, {', '.join(f'd.{name}' for name in names)}"
            " FROM webhooks_delivery d CROSS JOIN webhooks_endpoint e"
            " CROSS JOIN generate_series(1, %s) WHERE e.uri_digest LIKE 'e%%'",
            [min(rows, 5000) // endpoints],
        )
    return delivery.endpoint_id


def set_statistics(rows: int) -> None:
    """Collect statistics, and make PostgreSQL expect more rows than there are."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(f"ANALYZE {', '.join(TABLES)}")
        cursor.execute("UPDATE pg_class SET reltuples = %s WHERE relname = 'webhooks_delivery'", [rows])
        cursor.execute("UPDATE pg_class SET reltuples = %s WHERE relname = 'webhooks_delivery_waiting'", [rows])


def get_plan(
    statement: str, types: str, values: str, mode: str, *, by_index: bool = True, analyze: bool = False
) -> dict[str, Any]:
    numbers = count(1)
    text = "".join(part if part != "%s" else f"${next(numbers)}" for part in _split_placeholders(statement))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL plan_cache_mode = {mode}")
        # The fan-out in this test's transaction has already turned these settings off.
        for name in _SCANNING_NODES[:-1]:
            cursor.execute(f"SET LOCAL {name} = on")
        if by_index:
            cursor.execute(_ONLY_INDEXES)
        cursor.execute(f"PREPARE planned {f'({types})' if types else ''} AS {text}")
        cursor.execute(f"EXPLAIN (FORMAT JSON, ANALYZE {analyze}) EXECUTE planned {f'({values})' if values else ''}")
        ((plan,),) = cursor.fetchall()
        cursor.execute("DEALLOCATE planned")
    return dict((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])


def _split_placeholders(statement: str) -> Iterator[str]:
    first, *others = statement.split("%s")
    yield first
    for part in others:
        yield from ("%s", part)


def iterate_nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from iterate_nodes(part)


def find_slow_nodes(plan: dict[str, Any]) -> list[str]:
    """Return the nodes that read a growing table without an index, or sort rows of such a table before the limit."""
    nodes = list(iterate_nodes(plan))
    scans = [
        f"{node['Node Type']} on {node['Relation Name']}"
        for node in nodes
        if node.get("Relation Name") in {"webhooks_delivery", "webhooks_payload", "webhooks_pending", "events_event"}
        and node["Node Type"] in {"Seq Scan", "Bitmap Heap Scan"}
    ]
    due = [node for node in nodes if node.get("Subplan Name") == "CTE due"]
    sorts = [node["Node Type"] for part in due for node in iterate_nodes(part) if "Sort" in node["Node Type"]]
    return scans + sorts


@pytest.mark.parametrize(("rows", "endpoints"), SIZES)
def test_statements_of_the_dispatcher_follow_indexes(
    shop: Shop, installation: Installation, rows: int, endpoints: int
) -> None:
    endpoint = fill_queue(shop, installation, rows, endpoints)
    slow = {}
    for has_statistics in (False, True):
        if has_statistics:
            set_statistics(rows)
        for mode in ("force_generic_plan", "force_custom_plan"):
            for name, build in STATEMENTS.items():
                if name == "find work" and not (has_statistics and rows == SIZES[-1][0]):
                    continue  # It uses the planner's normal settings, so its plan depends on the expected rows.
                statement, (types, values) = build()
                plan = get_plan(
                    statement, types, values.replace("%d", str(endpoint)), mode, by_index=name != "find work"
                )
                if nodes := find_slow_nodes(plan):
                    slow[name, mode, has_statistics] = nodes
                if name == "claim":
                    indexes = {node.get("Index Name") for node in iterate_nodes(plan) if node.get("Alias") == "f"}
                    assert indexes == {"webhooks_delivery_waiting"}

    assert slow == {}


@pytest.mark.parametrize("statistics", ["none", "of an empty queue", "current"])
def test_claims_of_ordered_deliveries_read_a_part_of_the_queue(
    shop: Shop, installation: Installation, statistics: str
) -> None:
    """Claim deliveries of three resources, each with a thousand waiting deliveries."""
    fill_queue(shop, installation, 3000, 1)
    with all_shops_scope():
        endpoint = Endpoint.objects.get(uri_digest="e0").pk
    with connection.cursor() as cursor:
        columns = [field.column for field in Event._meta.concrete_fields if field.name not in {"id", "key"}]
        names = ", ".join(f'"{column}"' for column in columns)
        cursor.execute(
            f"INSERT INTO events_event (id, key, {names}) SELECT n, gen_random_uuid(), {names} FROM events_event"
            " CROSS JOIN (SELECT id AS n FROM webhooks_delivery) AS d ON CONFLICT (id) DO NOTHING"
        )
        cursor.execute("UPDATE webhooks_delivery SET ordering_key = 'x:' || id % 3, event_id = id")
        if statistics == "of an empty queue":
            set_statistics_of_no_rows(cursor, "webhooks_delivery")
    if statistics == "current":
        set_statistics(3000)

    read = {}
    scans = {}
    with transaction.atomic(), connection.cursor() as cursor:
        for name in ("claim", "postpone"):
            statement, (types, values) = STATEMENTS[name]()
            plan = get_plan(statement, types, values.replace("%d", str(endpoint)), "force_generic_plan", analyze=True)
            nodes = [node for node in iterate_nodes(plan) if "Scan" in node["Node Type"] and "Alias" in node]
            nodes = [node for node in nodes if node.get("Relation Name") == "webhooks_delivery"]
            read[name] = max(node["Actual Rows"] * node["Actual Loops"] for node in nodes)
            scans[name] = {
                node["Alias"].removesuffix("_1"): node.get("Index Name", node["Node Type"])
                for node in nodes
                if node["Node Type"] == "Tid Scan" or "Index Cond" in node
            }
        # The rows of the control have events that do not exist.
        transaction.set_rollback(True)

    assert read == {"claim": claims._MAX_READ, "postpone": claims._MAX_READ}
    # Other indexes contain the same rows, but PostgreSQL would have to read them as a whole.
    expected = {
        "f": "webhooks_delivery_waiting",
        "w": "Tid Scan",
        "o": "webhooks_delivery_event_order",
        "d": "Tid Scan",
    }
    assert scans == {"claim": expected, "postpone": expected}


@pytest.mark.parametrize("statistics", ["none", "of finished deliveries", "current"])
def test_postponed_deliveries_are_made_due_by_row(shop: Shop, installation: Installation, statistics: str) -> None:
    fill_queue(shop, installation, 3000, 1)
    with connection.cursor() as cursor:
        if statistics == "of finished deliveries":
            cursor.execute("UPDATE webhooks_delivery SET state = 'done'")
            set_statistics(3000)
            cursor.execute("UPDATE webhooks_delivery SET state = 'due'")
    if statistics == "current":
        set_statistics(3000)

    statement, (types, values) = STATEMENTS["results"]()
    plan = get_plan(statement, types, values, "force_generic_plan")

    (due,) = [node for node in iterate_nodes(plan) if node.get("Subplan Name") == "CTE due"]
    (scan,) = [node for node in iterate_nodes(due) if node.get("Relation Name") == "webhooks_delivery"][1:]
    assert scan["Node Type"] == "Tid Scan"


def test_sessions_do_not_compile_plans() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW jit")
        assert cursor.fetchone() == ("off",)
