from urllib.parse import urlencode

import pytest
from django.utils import timezone

from apps.content.domain.online_store import redirects
from apps.content.models import Redirect
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.support import factories
from tests.support.api_client import ApiClient, get_errors
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits


def post_redirect(api: ApiClient, path: str, target: str) -> JsonObject:
    response = api.post("redirects.json", {"redirect": {"path": path, "target": target}})
    assert response.status_code == 201, response.content
    return response.json()["redirect"]


def test_responses_fit_the_wire_tables(api: ApiClient) -> None:
    created = api.post("redirects.json", {"redirect": {"path": "/ipod", "target": "/pages/itunes"}})
    path = f"redirects/{created.json()['redirect']['id']}.json"

    assert_fits("redirect", "POST /redirects.json", created.json())
    assert_fits("redirect", "GET /redirects.json", api.get("redirects.json").json())
    assert_fits("redirect", "GET /redirects/count.json", api.get("redirects/count.json").json())
    assert_fits("redirect", "GET /redirects/{id}.json", api.get(path).json())
    changed = api.put(path, {"redirect": {"path": "/tiger", "target": "/pages/tiger"}})
    assert_fits("redirect", "PUT /redirects/{id}.json", changed.json())
    assert (changed.json()["redirect"]["path"], api.delete(path).json()) == ("/tiger", {})


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("/old", "/old"),
        ("old/page/", "/old/page"),
        (" /old ", "/old"),
        ("http://www.example.com/forums", "/forums"),
        ("//www.example.com/forums#top", "/forums"),
        ("/search?q=mug", "/search?q=mug"),
        ("/über uns", "/über uns"),
    ],
)
def test_paths_are_stored_without_host_and_final_slash(api: ApiClient, given: str, stored: str) -> None:
    assert post_redirect(api, given, "https://example.com/x")["path"] == stored


@pytest.mark.parametrize("spelling", ["/Über-Uns/", "/%C3%9Cber-uns", "über-uns", "https://shop.example/über-uns"])
def test_a_path_has_one_redirect_in_any_spelling(api: ApiClient, spelling: str) -> None:
    existing = post_redirect(api, "/über-uns", "/about")

    response = api.post("redirects.json", {"redirect": {"path": spelling, "target": "/contact"}})

    assert get_errors(response) == {"path": ["has already been taken"]}
    assert api.get(f"redirects.json?{urlencode({'path': spelling})}").json()["redirects"] == [existing]
    assert api.get("redirects.json", target="/about").json()["redirects"] == [existing]


@pytest.mark.parametrize(
    ("attrs", "errors"),
    [
        ({}, {"path": ["can't be blank"], "target": ["can't be blank"]}),
        ({"path": "/", "target": "/x"}, {"path": ["can't be the home page"]}),
        ({"path": "mailto:a@b.example", "target": "/x"}, {"path": ["is invalid"]}),
        ({"path": "/a\nb", "target": "/x"}, {"path": ["is invalid"]}),
        ({"path": "http://[x/y", "target": "http://a:x/y"}, {"path": ["is invalid"], "target": ["is invalid"]}),
        ({"path": "/" + "a" * 1024, "target": "/x"}, {"path": ["is too long (maximum is 1024 characters)"]}),
        *(
            ({"path": "/a", "target": target}, {"target": ["must begin with /, http:// or https://"]})
            for target in ("javascript:alert(1)", "//evil.example", "/\\evil.example", "somewhere")
        ),
        ({"path": "/a", "target": "https://"}, {"target": ["is invalid"]}),
        ({"path": "/a", "target": "/A/"}, {"target": ["creates a loop: /a → /A/"]}),
    ],
)
def test_invalid_redirects_change_nothing(api: ApiClient, shop: Shop, attrs: JsonObject, errors: JsonObject) -> None:
    assert get_errors(api.post("redirects.json", {"redirect": attrs})) == errors
    with shop_scope(shop):
        assert not Redirect.objects.exists()


def test_loops_through_other_redirects_are_refused(api: ApiClient, shop: Shop) -> None:
    first = post_redirect(api, "/a", "/b")
    post_redirect(api, "/b", f"https://{shop.domain}/c?from=b")

    closing = api.post("redirects.json", {"redirect": {"path": "/c", "target": "/a"}})
    outside = api.post("redirects.json", {"redirect": {"path": "/c", "target": "https://example.com/a"}})
    moved = api.put(f"redirects/{first['id']}.json", {"redirect": {"path": "/x", "target": "/x/"}})

    assert get_errors(closing) == {"target": ["creates a loop: /c → /a → /b → /c?from=b"]}
    assert outside.status_code == 201
    assert get_errors(moved) == {"target": ["creates a loop: /x → /x/"]}
    assert api.get(f"redirects/{first['id']}.json").json()["redirect"] == first


def test_chains_are_limited(api: ApiClient) -> None:
    for number in range(redirects.MAX_STEPS):
        post_redirect(api, f"/{number}", f"/{number + 1}")

    response = api.post("redirects.json", {"redirect": {"path": "/start", "target": "/0"}})

    assert get_errors(response) == {"target": ["leads through more than 20 redirects. Enter the last target instead"]}


def test_a_redirect_can_swap_its_own_path_and_target(api: ApiClient) -> None:
    redirect = post_redirect(api, "/a", "/b")

    response = api.put(f"redirects/{redirect['id']}.json", {"redirect": {"path": "/b", "target": "/a"}})

    assert response.json()["redirect"] == redirect | {"path": "/b", "target": "/a"}


def test_shops_do_not_see_each_others_redirects(api: ApiClient) -> None:
    other = factories.make_shop()
    with shop_scope(other):
        foreign = redirects.create_redirect(path="/a", target="/b", actor="system", at=timezone.now())

    post_redirect(api, "/b", "/a")
    assert api.get(f"redirects/{foreign.pk}.json").status_code == 404
    assert api.get("redirects/count.json?path=/a").json() == {"count": 0}


def test_renaming_leads_all_old_paths_to_the_new_path(in_shop: Shop) -> None:
    now = timezone.now()
    redirects.create_redirect(path="/first", target="/pages/a", actor="system", at=now)

    redirects.redirect_renamed_path("/pages/a", "/pages/b", actor="system", at=now)
    redirects.redirect_renamed_path("/pages/b", "/pages/c", actor="system", at=now)
    redirects.redirect_renamed_path("/pages/c", "/pages/a", actor="system", at=now)

    rows = Redirect.objects.order_by("path").values_list("path", "target")
    assert list(rows) == [("/first", "/pages/a"), ("/pages/b", "/pages/a"), ("/pages/c", "/pages/a")]
