"""Tests of the parameter ``order``, with which tools copy lists by time, and of unsupported parameters."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.core.rest.openapi.generators import get_latest_document
from apps.core.rest.viewsets import ShopViewSet
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.models import Customer
from apps.orders.models import Order
from tests.api.route_checks import assert_refusal
from tests.support.api_client import VERSION, ApiClient, parse_links
from tests.support.factories.customers import make_customer
from tests.support.factories.orders import make_order
from tests.support.rest.routes import get_all_routes
from tests.support.wire_tables import FOLDER, get_routes, load_table

START = datetime(2026, 3, 1, tzinfo=UTC)
# The parameters of these routes have other names in the document, or the routes are served by several views.
LISTS = [route for route in get_all_routes() if getattr(route.view, route.action, None) is ShopViewSet.list]


@pytest.fixture
def order_ids(shop: Shop) -> list[int]:
    """Create orders with times and totals that are not in the order of the ids. The last order is closed."""
    with shop_scope(shop):
        orders = [make_order() for _ in range(7)]
        for number, order in enumerate(orders):
            Order.objects.filter(pk=order.pk).update(
                updated_at=START + timedelta(minutes=number * 3 % 7 // 2),
                created_at=START - timedelta(minutes=number),
                processed_at=START + timedelta(hours=number * 5 % 7),
                total_price=number * 2 % 5,
                **({"status": "closed", "closed_at": START} if number == 6 else {}),
            )
    return [order.pk for order in orders]


def read_all_pages(api: ApiClient, path: str, **query: object) -> list[int]:
    """Return the ids of all pages of a list."""
    name = path.split(".", maxsplit=1)[0].split("/", maxsplit=1)[0]
    response = api.get(path, **query)
    ids: list[int] = []
    while True:
        assert response.status_code == 200, response.content
        ids += [row["id"] for row in response.json()[name]]
        links = parse_links(response)
        if "next" not in links:
            return ids
        response = api.http.get(links["next"])


@pytest.mark.both_databases
@pytest.mark.parametrize("name", ["id", "created_at", "updated_at", "processed_at", "total_price"])
@pytest.mark.parametrize("direction", ["", " asc", " desc", " DESC"])
def test_orders_are_sorted_page_by_page(
    api: ApiClient, shop: Shop, order_ids: list[int], name: str, direction: str
) -> None:
    with shop_scope(shop):
        values = dict(Order.objects.values_list("pk", name))
    down = "desc" in direction.lower()
    expected = sorted(order_ids, key=lambda pk: (values[pk], pk), reverse=down)

    ids = read_all_pages(api, "orders.json", order=f"{name}{direction}", status="any", limit=2)
    opened = read_all_pages(api, "orders.json", order=f"{name}{direction}", limit=2)
    later = read_all_pages(
        api,
        "orders.json",
        order=f"{name}{direction}",
        status="any",
        updated_at_min=(START + timedelta(minutes=1)).isoformat(),
        limit=2,
    )

    assert ids == expected
    assert opened == [pk for pk in expected if pk != order_ids[-1]]
    with shop_scope(shop):
        late = set(Order.objects.filter(updated_at__gte=START + timedelta(minutes=1)).values_list("pk", flat=True))
    assert later == [pk for pk in expected if pk in late]
    assert 0 < len(later) < len(ids)


@pytest.mark.both_databases
@pytest.mark.parametrize("name", ["updated_at", "created_at", "last_order_date", "total_spent", "orders_count", "id"])
def test_customers_are_sorted_page_by_page(api: ApiClient, shop: Shop, name: str) -> None:
    column = {"last_order_date": "last_order_at"}.get(name, name)
    with shop_scope(shop):
        customers = [make_customer(email=f"c{number}@example.com") for number in range(5)]
        for number, customer in enumerate(customers):
            Customer.objects.filter(pk=customer.pk).update(
                updated_at=START + timedelta(minutes=number * 2 % 5),
                created_at=START - timedelta(minutes=number),
                last_order_at=START + timedelta(minutes=number * 3 % 5 // 2),
                total_spent=number * 3 % 4,
                orders_count=number * 2 % 3,
            )
        expected = list(Customer.objects.order_by(column, "id").values_list("pk", flat=True))

    for query in (
        {},
        {"updated_at_min": "2026-01-01"},
        {"updated_at_min": "2026-01-01", "created_at_min": "2020-01-01"},
    ):
        assert read_all_pages(api, "customers.json", order=f"{name} asc", limit=2, **query) == expected
        assert read_all_pages(api, "customers.json", order=f"{name} desc", limit=2, **query) == expected[::-1]


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("orders.json", {"order": "updated_at asc", "status": "any", "updated_at_min": "2026-01-01"}),
        ("orders.json", {"order": "processed_at desc", "status": "any"}),
        ("customers.json", {"order": "updated_at asc", "updated_at_min": "2026-01-01"}),
        ("products.json", {"order": "updated_at asc", "updated_at_min": "2026-01-01"}),
    ],
)
def test_a_sorted_page_is_one_range_of_an_index(
    api: ApiClient, order_ids: list[int], path: str, query: dict[str, str]
) -> None:
    """The query has no conditions on other columns, so the database reads exactly the rows of the page."""
    with CaptureQueriesContext(connection) as queries:
        assert api.get(path, **query).status_code == 200

    statements = [entry["sql"] for entry in queries.captured_queries]
    sorted_queries = [sql for sql in statements if sql.endswith("LIMIT 51")]
    assert len(sorted_queries) == 1
    assert "OFFSET" not in sorted_queries[0]
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {sorted_queries[0]}")
            plan = "\n".join(row[3] for row in cursor.fetchall())
        assert "TEMP B-TREE" not in plan, plan


@pytest.mark.parametrize("route", LISTS, ids=lambda route: route.name)
def test_every_list_sorts_by_the_documented_names_only(route: object) -> None:
    columns = route.view.get_sort_columns()  # type: ignore[attr-defined]
    names = {field.name for field in route.view.model._meta.concrete_fields}  # type: ignore[attr-defined]

    assert "id" in columns
    assert {column for name in columns for column in columns[name]} <= names


@pytest.mark.parametrize("path", ["orders.json", "customers.json", "products.json", "collects.json", "blogs.json"])
@pytest.mark.parametrize(
    "order", ["", "password asc", "updated_at up", "updated_at,id", "-id", "shop__id", "id asc asc"]
)
def test_other_orders_are_refused(api: ApiClient, path: str, order: str) -> None:
    response = api.get(path, order=order)

    assert_refusal(response, 400)
    assert response.json()["errors"]["order"].startswith("must be one of id")


@pytest.mark.parametrize("path", ["orders.json", "customers.json", "customers/search.json", "locations.json"])
def test_pages_by_number_are_refused(api: ApiClient, path: str) -> None:
    response = api.get(path, page="2")

    assert_refusal(response, 400)
    assert response.json()["errors"]["page"].startswith("page cannot be passed. See http")


def test_every_parameter_of_existing_clients_is_documented() -> None:
    """A parameter in the wire tables is either supported or refused. Otherwise, clients would get too many rows."""
    missing = []
    paths = get_latest_document()["paths"]
    shapes = {_get_shape(path): operations for path, operations in paths.items()}
    for file in sorted(Path(FOLDER).glob("*.json")):
        for route in get_routes(file.stem):
            method, path = route.split(" ")
            operation = shapes.get(_get_shape(f"/admin/api/{VERSION}{path}"), {}).get(method.lower())
            if operation is None or method != "GET":
                continue
            documented = {parameter["name"].removesuffix("[]") for parameter in operation["parameters"]}
            wanted = {name.removesuffix("[]") for name in load_table(file.stem)[route].get("query", {})}
            missing += [f"{route}: {name}" for name in sorted(wanted - documented)]

    assert missing == []


def _get_shape(path: str) -> str:
    return json.dumps(["{}" if part.startswith("{") else part for part in path.replace("}.json", "}").split("/")])
