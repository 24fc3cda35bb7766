"""Checks of methods, ids in paths, query parameters and lists: see docs/reliability.md."""

from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.core.rest.reading import render_cache
from apps.core.rest.resources.filters import DateTimeFilter, apply_filters
from apps.core.tenancy.scope import shop_scope
from tests.api.route_checks import RouteCase, assert_refusal, is_get, is_list, route_check
from tests.samples import SampleContext
from tests.support.factories.growth import FIXED, QUERIES, get_grow_function
from tests.support.rest.bad_values import BAD_IDS, BAD_LIMITS, BAD_PAGE_TOKENS, UNFIT_FILTERS
from tests.support.rest.routes import Route, get_all_routes
from tests.support.subtests import Subtests

MORE_ROWS = 4
METHODS = {"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"}


@route_check(lambda route: "<id>" in route.name)
def check_invalid_ids_are_not_found(case: RouteCase) -> None:
    with case.unchanged(), Subtests() as subtest:
        for bad in BAD_IDS:
            with subtest(bad):
                assert_refusal(case.send(path=case.sample.path({**case.arguments, "id": bad})), 404)


@route_check(is_list)
def check_invalid_limits_are_refused(case: RouteCase) -> None:
    with Subtests() as subtest:
        for limit in BAD_LIMITS:
            with subtest(limit):
                response = case.send(query={"limit": limit})
                assert_refusal(response, 400)
                assert response.json() == {"errors": {"limit": "must be between 1 and 250"}}


@route_check(is_list)
def check_limit_above_the_maximum_means_the_maximum(case: RouteCase) -> None:
    assert case.send(query={"limit": "251"}).status_code == 200
    assert_refusal(case.send(query={"limit": ["5", "6"]}), 400)


@route_check(is_list)
def check_invalid_page_tokens_are_refused(case: RouteCase) -> None:
    with Subtests() as subtest:
        for token in BAD_PAGE_TOKENS:
            with subtest(token):
                response = case.api.http.get(case.path, {"page_info": token})
                assert_refusal(response, 400)
                assert response.json() == {"errors": {"page_info": "Invalid value."}}


def has_id_filter(route: Route) -> bool:
    return is_list(route) and "ids" in route.view.filterset_class.base_filters


@route_check(has_id_filter)
def check_unfit_filter_values_are_refused(case: RouteCase) -> None:
    with Subtests() as subtest:
        for name, value in UNFIT_FILTERS:
            with subtest(name, value):
                assert name in case.route.view.filterset_class.base_filters
                response = case.send(query={name: value})
                assert_refusal(response, 400)
                assert list(response.json()["errors"]) == [name]


def get_date_filters(route: Route) -> dict[str, DateTimeFilter]:
    """Return the date filters of a list route."""
    filters = route.view.filterset_class.base_filters.items() if is_list(route) else ()
    return {name: date_filter for name, date_filter in filters if isinstance(date_filter, DateTimeFilter)}


@route_check(lambda route: bool(get_date_filters(route)))
def check_date_filters_include_the_whole_second(case: RouteCase) -> None:
    """Check each filter: columns store microseconds, but responses show only whole seconds."""
    with shop_scope(case.shop), Subtests() as subtest:
        for name, date_filter in get_date_filters(case.route).items():
            with subtest(name):
                rows = case.route.view.model.objects.all()
                sql = str(apply_filters(case.route.view.filterset_class, {name: "2025-07-02T11:38:15Z"}, rows).query)
                column = date_filter.field_name
                assert name.endswith(("_min", "_max"))
                below = name.endswith("_max")
                expected = (f'"{column}" < ', "11:38:16") if below else (f'"{column}" >= ', "11:38:15")
                assert [part for part in expected if part not in sql] == [], sql


def grows(route: Route) -> bool:
    return is_get(route) and route.action in {"list", "search"} and route.name[4:] not in FIXED


@route_check(grows, both_databases=True)
def check_number_of_queries_does_not_depend_on_number_of_rows(case: RouteCase) -> None:
    grow = get_grow_function(case.route)
    world = SampleContext(case.shop, case.api.installation)
    query = {**QUERIES.get(case.sample.pattern, {}), "limit": "250"}

    def measure() -> tuple[int, list[str]]:
        # The first request warms up the process and is not counted.
        case.send(query=query)
        render_cache.cache.clear()
        with CaptureQueriesContext(connection) as queries:
            response = case.send(query=query)
        assert response.status_code == 200, response.content[:300]
        (rows,) = (value for value in response.json().values() if isinstance(value, list))
        return len(rows), [query["sql"] for query in queries.captured_queries]

    with shop_scope(case.shop):
        # Add a row with all types of related rows, because relations without rows need no query.
        grow(world, case.arguments, MORE_ROWS)
    few_count, before = measure()
    with shop_scope(case.shop):
        for number in range(MORE_ROWS):
            grow(world, case.arguments, number)
    many_count, after = measure()

    assert many_count >= few_count + MORE_ROWS
    assert len(after) == len(before), "\n".join(after)


@route_check(is_list)
def check_unknown_parameters_change_no_list(case: RouteCase) -> None:
    plain = case.send().json()
    strange = {"_connector": "OR", "id__in": "1", "shop__token": "x", "__class__": "x", "password": "y"}

    assert case.send(query=strange).json() == plain
    assert case.send(query={"fields": "__class__,password"}).status_code == 200
    assert case.send(query={"fields": ""}).json() == plain
    assert case.send(query={"fields": "id,id"}).status_code == 200


@route_check(is_list)
def check_queries_that_are_no_text_are_refused(case: RouteCase) -> None:
    assert_refusal(case.api.http.get(f"{case.path}?title=%ff"), 400)
    assert_refusal(case.api.http.get(f"{case.path}?title=%00"), 400)


@route_check()
def check_other_methods_are_refused(case: RouteCase) -> None:
    names = [route.name.split(" ") for route in get_all_routes()]
    allowed = {method for method, pattern in names if pattern == case.sample.pattern}

    with case.unchanged(), Subtests() as subtest:
        for method in METHODS - allowed:
            with subtest(method):
                response = case.api.http.generic(method, case.path, b"{}", content_type="application/json")
                assert_refusal(response, 405)
                assert set(response["Allow"].replace("HEAD", "").strip(", ").split(", ")) - {""} <= allowed


@route_check(is_get)
def check_head_equals_get_without_a_body(case: RouteCase) -> None:
    query = case.sample.query_for(case.arguments)

    headed = case.api.http.head(case.path, query)

    assert headed.status_code == case.sample_response.status_code
    assert headed.content == b""
    assert headed["Content-Type"] == case.sample_response["Content-Type"]
