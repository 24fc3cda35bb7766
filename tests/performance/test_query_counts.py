"""A list costs the same number of queries however long it is."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.api.rows import render_cache
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from tests.api.routes import Route, all_routes
from tests.conftest import ApiClient, Response
from tests.performance.growth import FIXED, QUERIES, growth_of
from tests.samples import World, load_all

SAMPLES = load_all()
MORE = 4
LISTS = [
    route
    for route in all_routes()
    if (route.action in {"list", "search"} and route.name.startswith("GET ")) and route.name[4:] not in FIXED
]


def listed(response: Response) -> list[Any]:
    """The rows of an answer, under whatever name."""
    assert response.status_code == 200, response.content[:300]
    (rows,) = response.json().values()
    assert isinstance(rows, list)
    return rows


@pytest.mark.parametrize("route", LISTS, ids=lambda route: route.name)
def test_list_costs_the_same_queries_at_few_rows_and_at_many(route: Route, api: ApiClient, shop: Shop) -> None:
    sample = SAMPLES[route.name]
    grow = growth_of(route)
    world = World(shop, api.installation)
    with shop_scope(shop):
        rows = sample.arrange(world)
        # A row with children of every kind: a collection that no row of a page has takes no query.
        grow(world, rows, MORE)

    def measure() -> tuple[int, list[str]]:
        # What a process learns once, such as the SQL of a statement, is not a cost of the request.
        query = {**sample.query_for(rows), **QUERIES.get(sample.pattern, {}), "limit": "250"}
        api.http.get(sample.path(rows), query)
        render_cache.cache.clear()
        with CaptureQueriesContext(connection) as queries:
            answer = api.http.get(sample.path(rows), query)
        return len(listed(answer)), [query["sql"] for query in queries.captured_queries]

    few, before = measure()
    with shop_scope(shop):
        for number in range(MORE):
            grow(world, rows, number)
    many, after = measure()

    assert many >= few + MORE
    assert len(after) == len(before), "\n".join(after)
