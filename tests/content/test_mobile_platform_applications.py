import pytest
from django.test import Client

from apps.content.models import MobilePlatformApplication
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.support.api_client import ApiClient, Response, get_errors
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

PRINT = ":".join(["0A"] * 32)
ROUTE = "mobile_platform_applications"
IOS = {
    "platform": "ios",
    "application_id": "X1Y2.example.app",
    "enabled_universal_or_app_links": True,
    "enabled_shared_webcredentials": True,
}
ANDROID = {
    "platform": "android",
    "application_id": "example.app",
    "sha256_cert_fingerprints": [PRINT],
    "enabled_universal_or_app_links": True,
}


def create_app(api: ApiClient, body: JsonObject) -> JsonObject:
    response = api.post(f"{ROUTE}.json", {"mobile_platform_application": body})
    assert response.status_code == 201, response.content
    return response.json()["mobile_platform_application"]


def update_app(api: ApiClient, app: JsonObject, body: JsonObject) -> Response:
    return api.put(f"{ROUTE}/{app['id']}.json", {"mobile_platform_application": body})


def test_every_route_answers_in_the_shape_that_clients_know(api: ApiClient) -> None:
    created = api.post(f"{ROUTE}.json", {"mobile_platform_application": ANDROID}).json()
    path = f"{ROUTE}/{created['mobile_platform_application']['id']}.json"

    for route, body in (
        (f"POST /{ROUTE}.json", created),
        (f"GET /{ROUTE}.json", api.get(f"{ROUTE}.json").json()),
        (f"GET /{ROUTE}/{{id}}.json", api.get(path).json()),
        (f"PUT /{ROUTE}/{{id}}.json", api.put(path, created).json()),
    ):
        assert_fits("mobile_platform_application", route, body)
    assert (api.delete(path).json(), api.get(path).status_code) == ({}, 404)


def test_create_answers_plain_booleans_and_neutral_values(api: ApiClient) -> None:
    app = create_app(api, IOS)

    assert app == {
        **{name: app[name] for name in ("id", "created_at", "updated_at")},
        **IOS,
        "sha256_cert_fingerprints": [],
        "enabled_app_clips": False,
        "app_clip_application_id": None,
    }


def test_switches_are_also_taken_as_the_objects_of_the_overview(api: ApiClient) -> None:
    values = {
        "enabled_shared_webcredentials": {"enabled_shared_webcredential": True},
        "enabled_app_clips": {"app_clips_enabled": True},
        "app_clip_application_id": "X1Y2.example.app.Clip",
    }

    app = create_app(api, IOS | values)

    assert (app["enabled_shared_webcredentials"], app["enabled_app_clips"]) == (True, True)


PRINTS = "sha256_cert_fingerprints"


@pytest.mark.parametrize(
    ("field", "bodies"),
    [
        ("platform", [{}, IOS | {"platform": "windows"}]),
        ("application_id", [IOS | {"application_id": text} for text in ("", "no such id")]),
        (PRINTS, [IOS | {PRINTS: [PRINT]}]),
        (PRINTS, [ANDROID | {PRINTS: value} for value in ([PRINT[:-3]], [PRINT.replace(":", "")], PRINT, [5])]),
        ("enabled_app_clips", [IOS | {"enabled_app_clips": {key: "maybe"}} for key in ("other", "app_clips_enabled")]),
        ("app_clip_application_id", [IOS | {"app_clip_application_id": "a b"}]),
    ],
)
def test_create_refuses_what_does_not_fit(api: ApiClient, shop: Shop, field: str, bodies: list[JsonObject]) -> None:
    for body in bodies:
        assert field in get_errors(api.post(f"{ROUTE}.json", {"mobile_platform_application": body})), body
    with shop_scope(shop):
        assert not MobilePlatformApplication.objects.exists()


def test_an_app_is_registered_once_per_platform(api: ApiClient, other_shop_api: ApiClient) -> None:
    create_app(api, IOS)
    create_app(api, ANDROID | {"application_id": IOS["application_id"]})
    create_app(other_shop_api, IOS)

    second_response = api.post(f"{ROUTE}.json", {"mobile_platform_application": IOS})

    assert get_errors(second_response) == {"application_id": ["has already been taken"]}


def test_an_android_app_with_fingerprints_cannot_become_an_ios_app(api: ApiClient) -> None:
    app = create_app(api, ANDROID)

    refused = update_app(api, app, {"platform": "ios"})
    changed = update_app(api, app, {"platform": "ios", "sha256_cert_fingerprints": []})

    assert list(get_errors(refused)) == ["sha256_cert_fingerprints"]
    assert changed.json()["mobile_platform_application"]["platform"] == "ios"


def test_fingerprints_are_shown_in_upper_case_once(api: ApiClient) -> None:
    app = create_app(api, ANDROID | {"sha256_cert_fingerprints": [PRINT.lower(), PRINT]})

    assert app["sha256_cert_fingerprints"] == [PRINT]


def test_phones_find_their_apps_at_the_shops_own_domain(api: ApiClient, other_shop_api: ApiClient) -> None:
    create_app(api, IOS | {"enabled_app_clips": True, "app_clip_application_id": "X1Y2.example.app.Clip"})
    silent = {"enabled_universal_or_app_links": False, "enabled_shared_webcredentials": False}
    create_app(api, IOS | silent | {"application_id": "X1Y2.silent"})
    create_app(api, ANDROID)
    create_app(api, ANDROID | silent | {"application_id": "silent.app"})
    create_app(other_shop_api, IOS | {"application_id": "ZZZZ.stranger"})
    shop = Client(headers={"Host": "acme.example"})

    apple = shop.get("/.well-known/apple-app-site-association")
    android = shop.get("/.well-known/assetlinks.json")

    assert (apple["Content-Type"], android["Content-Type"]) == ("application/json", "application/json")
    assert apple.json() == {
        "applinks": {"apps": [], "details": [{"appID": "X1Y2.example.app", "paths": ["*"]}]},
        "webcredentials": {"apps": ["X1Y2.example.app"]},
        "appclips": {"apps": ["X1Y2.example.app.Clip"]},
    }
    target = {"namespace": "android_app", "package_name": "example.app", "sha256_cert_fingerprints": [PRINT]}
    assert android.json() == [{"relation": ["delegate_permission/common.handle_all_urls"], "target": target}]
    assert Client().get("/.well-known/assetlinks.json").status_code == 404


def test_every_change_writes_one_event(api: ApiClient, shop: Shop) -> None:
    app = create_app(api, IOS)
    update_app(api, app, {"enabled_app_clips": True})
    api.delete(f"{ROUTE}/{app['id']}.json")

    with shop_scope(shop):
        topics = list(Event.objects.filter(topic__startswith=ROUTE).order_by("id").values_list("topic", flat=True))
    assert topics == [f"{ROUTE}/{verb}" for verb in ("create", "update", "delete")]
