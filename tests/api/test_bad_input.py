"""Tests that single routes reject invalid input. ``tests/api/route_checks`` checks every route."""

import pytest
from django.conf import settings
from rest_framework.request import Request
from time_machine import TimeMachineFixture

from apps.core.rest.requests.views import SINGULAR_NAMES
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope
from apps.shops.api.views import ShopView
from tests.api.route_checks import assert_refusal
from tests.support.api_client import ApiClient
from tests.support.databases.snapshots import assert_database_unchanged


def test_a_second_wrapper_is_400(api: ApiClient) -> None:
    SINGULAR_NAMES.add("other_thing")
    tag = {"src": "https://a.example/a.js", "event": "onload"}

    with assert_database_unchanged():
        response = api.post("script_tags.json", {"script_tag": tag, "other_thing": {}})
    SINGULAR_NAMES.discard("other_thing")

    assert_refusal(response, 400)
    assert response.json() == {"errors": {"script_tag": "Required parameter missing or invalid"}}


@pytest.mark.parametrize(
    ("version", "served_by"),
    [
        ("2023-01", "2024-10"),
        ("2025-02", "2025-01"),
        ("2026-10", "2026-10"),
        ("latest", "2026-10"),
        ("unstable", "unstable"),
    ],
)
def test_versions_are_served_by_the_nearest_older_one(api: ApiClient, version: str, served_by: str) -> None:
    response = api.at(version).get("shop.json")

    assert response.status_code == 200
    assert response["X-Platform-API-Version"] == served_by


@pytest.mark.parametrize(
    ("today", "version", "served_by"),
    [
        ("2020-02-01", "2026-04", "2026-04"),
        ("2027-03-31T23:59:59Z", "2027-01", "newest"),
        ("2027-03-31T23:59:59Z", "2027-04", None),
        ("2027-04-01T00:00:00Z", "2027-04", "newest"),
        ("2027-12-31", "2027-10", "newest"),
        ("2027-12-31", "2028-01", None),
        ("2027-12-31", "2027-13", None),
        ("2027-12-31", "3", None),
    ],
)
def test_newest_version_serves_later_ones_up_to_the_current_quarter(
    api: ApiClient, time_machine: TimeMachineFixture, today: str, version: str, served_by: str | None
) -> None:
    time_machine.move_to(today)
    response = api.at(version).get("shop.json")

    assert response.status_code == (200 if served_by else 404)
    newest = settings.API_VERSIONS[-1]
    assert response["X-Platform-API-Version"] == (newest if served_by in {"newest", None} else served_by)


@pytest.mark.parametrize(
    "path",
    [
        *("/2099-01/shop.json", "/2026-13/shop.json", "/abc/shop.json", "//shop.json", "/2026-10/shop"),
        *("/2026-10/shop.xml", "/2026-10//shop.json", "/2026-10/SHOP.json", "/2026-10/", "/2026-10", "/", ""),
        *("/2026-10/../shop.json", "/2026-10/shop.json/"),
    ],
)
def test_paths_that_are_no_route_are_404_in_json(api: ApiClient, path: str) -> None:
    response = api.http.get(f"/admin/api{path}")

    assert_refusal(response, 404)
    assert response.json() == {"errors": "Not Found"}


@pytest.mark.parametrize(("name", "value", "status"), [("Host", "evil.example", 400), ("Accept", "text/html", 406)])
def test_a_bad_host_is_400_in_json(api: ApiClient, name: str, value: str, status: int) -> None:
    assert_refusal(api.http.get("/admin/api/2026-10/shop.json", headers={name: value}), status)


def test_headers_of_proxies_change_nothing(api: ApiClient) -> None:
    tag = {"script_tag": {"src": "https://a.example/a.js", "event": "onload"}}
    headers = {"X-Forwarded-For": "6.6.6.6", "X-Forwarded-Host": "evil.example", "X-HTTP-Method-Override": "DELETE"}

    response = api.post("script_tags.json", tag, **headers)

    assert response.status_code == 201
    assert response["Location"].startswith("http://127.0.0.1:8000/admin/api/")


@pytest.mark.parametrize(
    "text", ["a" * 2024, "é" * 2024, "😀" * 2024, "e\u0301" * 1012, "\u202eabc", "a\u200bb", " x ", "'\"\\%_;--"]
)
def test_texts_come_back_byte_for_byte(api: ApiClient, shop: Shop, text: str) -> None:
    with all_shops_scope():
        Shop.objects.filter(pk=shop.pk).update(name=text[:255])

    assert api.get("shop.json").json()["shop"]["name"] == text[:255]


def test_a_defect_is_500_without_details(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(view: ShopView, request: Request) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(ShopView, "retrieve", fail)
    response = api.get("shop.json")

    assert (response.status_code, response.json()) == (500, {"errors": "Internal Server Error"})
