"""Tests that the number of queries for a list does not depend on the number of rows."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.api.rows import render_cache
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from tests.api.routes import Route, get_all_routes
from tests.conftest import ApiClient, Response
from tests.performance.growth import FIXED, QUERIES, get_grow_function
from tests.samples import SampleContext, load_all_samples

SAMPLES = load_all_samples()
MORE = 4
LISTS = [
    route
    for route in get_all_routes()
    if (route.action in {"list", "search"} and route.name.startswith("GET ")) and route.name[4:] not in FIXED
]


def get_rows(response: Response) -> list[Any]:
    """Return the rows in a list response."""
    assert response.status_code == 200, response.content[:300]
    (rows,) = response.json().values()
    assert isinstance(rows, list)
    return rows


@pytest.mark.parametrize("route", LISTS, ids=lambda route: route.name)
def test_list_costs_the_same_queries_at_few_rows_and_at_many(route: Route, api: ApiClient, shop: Shop) -> None:
    sample = SAMPLES[route.name]
    grow = get_grow_function(route)
    world = SampleContext(shop, api.installation)
    with shop_scope(shop):
        rows = sample.arrange(world)
        # Add a row with all types of related rows, because relations without rows need no query.
        grow(world, rows, MORE)

    def measure() -> tuple[int, list[str]]:
        # The first request warms up the process and is not counted.
        query = {**sample.query_for(rows), **QUERIES.get(sample.pattern, {}), "limit": "250"}
        api.http.get(sample.path(rows), query)
        render_cache.cache.clear()
        with CaptureQueriesContext(connection) as queries:
            response = api.http.get(sample.path(rows), query)
        return len(get_rows(response)), [query["sql"] for query in queries.captured_queries]

    few_count, before = measure()
    with shop_scope(shop):
        for number in range(MORE):
            grow(world, rows, number)
    many_count, after = measure()

    assert many_count >= few_count + MORE
    assert len(after) == len(before), "\n".join(after)
