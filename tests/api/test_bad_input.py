"""Every route rejects invalid input with an error in the API's format and changes nothing.

See checks B1 to B28 in docs/reliability.md. The cases are generated from the URL conf and the samples, so new routes
are covered. One test per route and kind of input tries all values of that kind. Special cases for single routes follow
below.
"""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from apps.api.resources.serializers import get_writable_fields
from tests.api.bad_values import CONTENT_TYPES, EXTREMES, MALFORMED, NO_OBJECT, NO_ROW, UNFIT_FILTERS
from tests.api.conftest import snapshot_database
from tests.api.routes import Route, get_all_routes
from tests.collect_failures import Subtests
from tests.conftest import VERSION, ApiClient, Response
from tests.samples import load_all_samples

SAMPLES = load_all_samples()
ROUTES = [route for route in get_all_routes() if route.name in SAMPLES]
WRITING = [route for route in ROUTES if SAMPLES[route.name].body is not None]
LISTS = [route for route in ROUTES if route.action == "list" and hasattr(route.view, "filterset_class")]
PLURAL = [route for route in LISTS if route.view.filterset_class.base_filters.keys() >= {"ids"}]


def get_route_id(route: Route) -> str:
    return route.name


def assert_refusal(response: Response, *statuses: int) -> None:
    assert response.status_code in statuses, (response.status_code, response.content[:300])
    assert response["Content-Type"] == "application/json; charset=utf-8"
    assert response["X-Request-Id"]
    assert set(response.json()) <= {"errors", "detail"}
    assert response.json()["errors"]


def assert_no_defect(response: Response) -> None:
    assert response.status_code < 500, (response.status_code, response.content[:300])


@pytest.mark.parametrize("route", WRITING, ids=get_route_id)
def test_bodies_that_cannot_be_read_are_400(route: Route, prepare_request: Any, assert_database_unchanged: Any) -> None:
    case = prepare_request(SAMPLES[route.name])

    with assert_database_unchanged(), Subtests() as subtest:
        for kind, body in MALFORMED.items():
            with subtest(kind):
                assert_refusal(case.send(body=body), 400)


@pytest.mark.parametrize("route", WRITING, ids=get_route_id)
def test_bodies_without_the_wrapper_are_400(route: Route, prepare_request: Any, assert_database_unchanged: Any) -> None:
    sample = SAMPLES[route.name]
    case = prepare_request(sample)
    bodies: dict[str, bytes] = {} if sample.bodiless else {"empty": b"{}", **NO_OBJECT}
    wrapper = next(iter(case.sample.body_for(case.arguments)), None)
    if wrapper == getattr(route.view, "singular", None):
        bodies |= {f"wrapper holds {kind}": json.dumps({wrapper: value}).encode() for kind, value in NO_ROW.items()}
        bodies["another wrapper"] = b'{"nonsense": {"a": 1}}'
    if not bodies:
        return  # The route accepts requests without a body or wrapper.

    with assert_database_unchanged(), Subtests() as subtest:
        for kind, body in bodies.items():
            with subtest(kind):
                assert_refusal(case.send(body=body), 400, 422)


def test_a_second_wrapper_is_400(api: ApiClient, assert_database_unchanged: Any) -> None:
    from apps.api.requests.views import SINGULAR_NAMES

    SINGULAR_NAMES.add("other_thing")
    tag = {"src": "https://a.example/a.js", "event": "onload"}

    with assert_database_unchanged():
        response = api.post("script_tags.json", {"script_tag": tag, "other_thing": {}})
    SINGULAR_NAMES.discard("other_thing")

    assert_refusal(response, 400)
    assert response.json() == {"errors": {"script_tag": "Required parameter missing or invalid"}}


@pytest.mark.parametrize("route", WRITING, ids=get_route_id)
def test_other_content_types_are_415(route: Route, prepare_request: Any, assert_database_unchanged: Any) -> None:
    case = prepare_request(SAMPLES[route.name])

    with assert_database_unchanged(), Subtests() as subtest:
        for content_type in CONTENT_TYPES:
            with subtest(content_type):
                assert_refusal(case.send(content_type=content_type), 415)


@pytest.mark.parametrize("route", WRITING, ids=get_route_id)
def test_large_bodies_are_413_before_they_are_read(
    route: Route, prepare_request: Any, assert_database_unchanged: Any
) -> None:
    limit = 30 * 1024 * 1024 if route.view.takes_uploads else 1024 * 1024
    case = prepare_request(SAMPLES[route.name])

    with assert_database_unchanged():
        response = case.send(body=b'{"a": "' + b"x" * limit + b'"}')

    assert_refusal(response, 413)


@pytest.mark.both_databases
@pytest.mark.parametrize("route", WRITING, ids=get_route_id)
def test_values_of_wrong_types_and_extremes_never_break(route: Route, prepare_request: Any) -> None:
    case = prepare_request(SAMPLES[route.name])
    body = case.sample.body_for(case.arguments)
    wrapper = next(iter(body), None)
    if not isinstance(body.get(wrapper), dict):
        return
    with Subtests() as subtest:
        for name, value in product(body[wrapper], EXTREMES):
            with subtest(name, repr(value)):
                assert_no_defect(case.send(body={wrapper: {**body[wrapper], name: value}}))


def iterate_paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all values in a body: ``("product", "variants", 0, "price")``."""
    if at:
        yield at
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from iterate_paths(inner, (*at, key))


def replace_value(body: Any, at: tuple[Any, ...], value: Any) -> Any:
    """Return the body with one value replaced, or with one value added to an object."""
    if not at:
        return value
    copied = dict(body) if isinstance(body, dict) else list(body)
    copied[at[0]] = replace_value(body[at[0]] if len(at) > 1 else None, at[1:], value)
    return copied


@pytest.mark.both_databases
@pytest.mark.parametrize("route", WRITING, ids=get_route_id)
def test_wrong_types_in_any_place_never_break(route: Route, prepare_request: Any) -> None:
    case = prepare_request(SAMPLES[route.name])
    body = case.sample.body_for(case.arguments)
    paths = list(iterate_paths(body))
    wrapper = next(iter(body), None)
    if isinstance(body.get(wrapper), dict) and hasattr(route.view, "serializer_class"):
        paths += [(wrapper, field.field_name) for field in get_writable_fields(route.view.serializer_class, VERSION)]
    with Subtests() as subtest:
        for at, value in product(dict.fromkeys(paths), (None, True, 2**63, [], {}, [{}], [[]])):
            with subtest(at, repr(value)):
                assert_no_defect(case.send(body=replace_value(body, at, value)))


@pytest.mark.both_databases
@pytest.mark.parametrize("route", WRITING, ids=get_route_id)
def test_texts_that_cannot_be_stored_are_refused(
    route: Route, prepare_request: Any, assert_database_unchanged: Any
) -> None:
    case = prepare_request(SAMPLES[route.name])
    wrapper = next(iter(case.sample.body_for(case.arguments)), "a").encode()
    bodies = (b'{"%s": {"title": "%s"}}', b'{"%s": {"x": {"%s": 1}}}')

    with assert_database_unchanged(), Subtests() as subtest:
        for text, body in product((b"\\u0000", b"\\ud800", b"a\\udfffb"), bodies):
            with subtest(text, body):
                assert_refusal(case.send(body=body % (wrapper, text)), 400, 422)


@pytest.mark.both_databases
@pytest.mark.parametrize("route", [r for r in ROUTES if "<id>" in r.name], ids=get_route_id)
def test_ids_that_are_none_are_404(route: Route, prepare_request: Any, assert_database_unchanged: Any) -> None:
    case = prepare_request(SAMPLES[route.name])

    with assert_database_unchanged(), Subtests() as subtest:
        for bad in ("0", "-1", "9" * 30, "9" * 5000, str(2**63), "１", "1.json", "abc", "1%00", "01", "1/2"):
            with subtest(bad):
                assert_refusal(case.send(path=case.sample.path({**case.arguments, "id": bad})), 404)


@pytest.mark.parametrize("route", LISTS, ids=get_route_id)
def test_limits_that_are_none_are_400(route: Route, prepare_request: Any) -> None:
    case = prepare_request(SAMPLES[route.name])

    with Subtests() as subtest:
        for limit in ("0", "-1", "abc", "1e3", "1_0", "", "１", "9" * 40):
            with subtest(limit):
                response = case.send(query={"limit": limit})
                assert_refusal(response, 400)
                assert response.json() == {"errors": {"limit": "must be between 1 and 250"}}


@pytest.mark.parametrize("route", LISTS, ids=get_route_id)
def test_a_limit_above_the_maximum_means_the_maximum(route: Route, prepare_request: Any) -> None:
    case = prepare_request(SAMPLES[route.name])

    assert case.send(query={"limit": "251"}).status_code == 200
    assert_refusal(case.send(query={"limit": ["5", "6"]}), 400)


@pytest.mark.parametrize("route", LISTS, ids=get_route_id)
def test_page_tokens_that_are_none_are_400(route: Route, prepare_request: Any) -> None:
    case = prepare_request(SAMPLES[route.name])
    path = case.sample.path(case.arguments)

    with Subtests() as subtest:
        for token in ("garbage", "", "a.b", "W10.W10", "é", "." * 500):
            with subtest(token):
                response = case.api.http.get(path, {"page_info": token})
                assert_refusal(response, 400)
                assert response.json() == {"errors": {"page_info": "Invalid value."}}


@pytest.mark.both_databases
@pytest.mark.parametrize("route", PLURAL, ids=get_route_id)
def test_filter_values_that_do_not_fit_are_400(route: Route, prepare_request: Any) -> None:
    case = prepare_request(SAMPLES[route.name])

    with Subtests() as subtest:
        for name, value in UNFIT_FILTERS:
            with subtest(name, value):
                assert name in route.view.filterset_class.base_filters
                response = case.send(query={name: value})
                assert_refusal(response, 400)
                assert list(response.json()["errors"]) == [name]


@pytest.mark.parametrize("route", LISTS, ids=get_route_id)
def test_unknown_parameters_and_fields_are_ignored(route: Route, prepare_request: Any) -> None:
    case = prepare_request(SAMPLES[route.name])
    plain = case.send().json()

    strange = {"_connector": "OR", "id__in": "1", "shop__token": "x", "__class__": "x", "password": "y"}

    assert case.send(query=strange).json() == plain
    assert case.send(query={"fields": "__class__,password"}).status_code == 200
    assert case.send(query={"fields": ""}).json() == plain
    assert case.send(query={"fields": "id,id"}).status_code == 200


MARK = "nonsense-7f3a"


@pytest.mark.both_databases
@pytest.mark.parametrize("route", ROUTES, ids=get_route_id)
def test_unknown_parameters_and_body_keys_are_ignored_and_not_stored(route: Route, prepare_request: Any) -> None:
    case = prepare_request(SAMPLES[route.name])
    path, body = case.sample.path(case.arguments), case.sample.body_for(case.arguments)

    if case.sample.method == "get":
        response = case.send(query={"nonsense": MARK, "nonsense[a][]": MARK})
    else:
        full_body = {
            name: {**value, "nonsense": MARK} if isinstance(value, dict) else value
            for name, value in (body or {}).items()
        }
        response = case.send(path=f"{path}?nonsense={MARK}", body=body and {**full_body, "a_nonsense": {"b": [MARK]}})

    assert response.status_code == case.sample.status, response.content
    assert MARK not in response.content.decode()
    assert [table for table, (_, contents) in snapshot_database().items() if MARK in str(contents)] == []


@pytest.mark.both_databases
@pytest.mark.parametrize("route", LISTS, ids=get_route_id)
def test_queries_that_are_no_text_are_400(route: Route, prepare_request: Any) -> None:
    case = prepare_request(SAMPLES[route.name])
    path = case.sample.path(case.arguments)

    assert_refusal(case.api.http.get(f"{path}?title=%ff"), 400)
    assert_refusal(case.api.http.get(f"{path}?title=%00"), 400)


@pytest.mark.parametrize("route", ROUTES, ids=get_route_id)
def test_other_methods_are_405_and_say_which_are_not(
    route: Route, prepare_request: Any, assert_database_unchanged: Any
) -> None:
    case = prepare_request(SAMPLES[route.name])
    path = case.sample.path(case.arguments)
    allowed = {r.name.split(" ")[0] for r in ROUTES if r.name.split(" ")[1] == case.sample.pattern}

    with assert_database_unchanged(), Subtests() as subtest:
        for method in {"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} - allowed:
            with subtest(method):
                response = case.api.http.generic(method, path, b"{}", content_type="application/json")
                assert_refusal(response, 405)
                assert set(response["Allow"].replace("HEAD", "").strip(", ").split(", ")) - {""} <= allowed


@pytest.mark.parametrize("route", [r for r in ROUTES if r.name.startswith("GET")], ids=get_route_id)
def test_head_equals_get_without_a_body(route: Route, prepare_request: Any) -> None:
    case = prepare_request(SAMPLES[route.name])
    path, query = case.sample.path(case.arguments), case.sample.query_for(case.arguments)

    got, headed = case.api.http.get(path, query), case.api.http.head(path, query)

    assert headed.status_code == got.status_code
    assert headed.content == b""
    assert headed["Content-Type"] == got["Content-Type"]


@pytest.mark.parametrize(
    ("version", "served_by"),
    [
        ("2023-01", "2024-10"),
        ("2025-02", "2025-01"),
        ("2026-07", "2026-07"),
        ("latest", "2026-07"),
        ("unstable", "unstable"),
    ],
)
def test_versions_are_served_by_the_nearest_older_one(api: ApiClient, version: str, served_by: str) -> None:
    response = api.at(version).get("shop.json")

    assert response.status_code == 200
    assert response["X-Platform-API-Version"] == served_by


@pytest.mark.parametrize(
    "path",
    [
        "/admin/api/2099-01/shop.json",
        "/admin/api/2026-13/shop.json",
        "/admin/api/abc/shop.json",
        "/admin/api//shop.json",
        "/admin/api/2026-07/shop",
        "/admin/api/2026-07/shop.xml",
        "/admin/api/2026-07//shop.json",
        "/admin/api/2026-07/SHOP.json",
        "/admin/api/2026-07/",
        "/admin/api/2026-07",
        "/admin/api/",
        "/admin/api",
        "/admin/api/2026-07/../shop.json",
        "/admin/api/2026-07/shop.json/",
    ],
)
def test_paths_that_are_no_route_are_404_in_json(api: ApiClient, path: str) -> None:
    response = api.http.get(path)

    assert_refusal(response, 404)
    assert response.json() == {"errors": "Not Found"}


def test_a_bad_host_is_400_in_json(api: ApiClient) -> None:
    assert_refusal(api.http.get("/admin/api/2026-07/shop.json", headers={"Host": "evil.example"}), 400)


def test_headers_of_proxies_change_nothing(api: ApiClient) -> None:
    tag = {"script_tag": {"src": "https://a.example/a.js", "event": "onload"}}
    headers = {
        "X-Forwarded-For": "6.6.6.6",
        "X-Forwarded-Host": "evil.example",
        "X-HTTP-Method-Override": "DELETE",
    }

    response = api.post("script_tags.json", tag, **headers)

    assert response.status_code == 201
    assert response["Location"].startswith("http://127.0.0.1:8000/admin/api/")


@pytest.mark.parametrize(
    "text", ["a" * 2024, "é" * 2024, "😀" * 2024, "e\u0301" * 1012, "\u202eabc", "a\u200bb", " x ", "'\"\\%_;--"]
)
def test_texts_come_back_byte_for_byte(api: ApiClient, shop: Any, text: str) -> None:
    from apps.ground.tenancy import all_shops_scope
    from apps.shops.models import Shop

    with all_shops_scope():
        Shop.objects.filter(pk=shop.pk).update(name=text[:255])

    assert api.get("shop.json").json()["shop"]["name"] == text[:255]


def test_answers_that_are_not_accepted_are_406(api: ApiClient) -> None:
    response = api.http.get("/admin/api/2026-07/shop.json", headers={"Accept": "text/html"})

    assert_refusal(response, 406)


def test_a_defect_is_500_without_details(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    from apps.shops.api.views import ShopView

    def fail(self: Any, request: Any) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(ShopView, "retrieve", fail)
    response = api.get("shop.json")

    assert response.status_code == 500
    assert response.json() == {"errors": "Internal Server Error"}
    assert b"secret" not in response.content
