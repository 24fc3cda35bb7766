from datetime import timedelta

import pytest
from django.utils import timezone

from apps.content.models import Page
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.support.api_client import ApiClient, ClientWith, get_errors
from tests.support.factories.content import make_page, make_policy
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

METAFIELD = {"namespace": "global", "key": "layout", "type": "single_line_text_field", "value": "wide"}


def post_page(api: ApiClient, **attrs: object) -> JsonObject:
    response = api.post("pages.json", {"page": {"title": "About us", **attrs}})
    assert response.status_code == 201, response.content
    return response.json()["page"]


def test_responses_fit_the_wire_tables(api: ApiClient) -> None:
    created = api.post("pages.json", {"page": {"title": "A", "body_html": "<p>B</p>", "metafields": [METAFIELD]}})
    path = f"pages/{created.json()['page']['id']}"

    assert_fits("page", "POST /pages.json", created.json())
    assert_fits("page", "GET /pages.json", api.get("pages.json").json())
    assert_fits("page", "GET /pages/count.json", api.get("pages/count.json").json())
    assert_fits("page", "GET /pages/{id}.json", api.get(f"{path}.json").json())
    changed = api.put(f"{path}.json", {"page": {"title": "C", "author": "Kim", "handle": "c", "published": True}})
    assert_fits("page", "PUT /pages/{id}.json", changed.json())
    assert [row["value"] for row in api.get(f"{path}/metafields.json").json()["metafields"]] == ["wide"]
    assert api.delete(f"{path}.json").json() == {}
    assert api.get(f"{path}.json").status_code == 404


def test_a_page_has_defaults(api: ApiClient, shop: Shop) -> None:
    pages = [post_page(api), post_page(api, handle="", author=None, body_html=None)]

    assert [page["handle"] for page in pages] == ["about-us", "about-us-1"]
    assert {(page["author"], page["body_html"], page["shop_id"]) for page in pages} == {(shop.name, "", shop.pk)}
    assert pages[0]["published_at"] is not None
    assert pages[0]["admin_graphql_api_id"] == f"gid://platform/Page/{pages[0]['id']}"


def test_handles_are_unique_per_shop(api: ApiClient) -> None:
    first, second = post_page(api), post_page(api)

    taken = api.post("pages.json", {"page": {"title": "Other", "handle": "About us"}})
    moved = api.put(f"pages/{second['id']}.json", {"page": {"handle": first["handle"]}})
    kept = api.put(f"pages/{second['id']}.json", {"page": {"handle": "", "title": "New title"}})

    assert get_errors(taken) == get_errors(moved) == {"handle": ["has already been taken"]}
    assert kept.json()["page"]["handle"] == "about-us-1"


def test_publishing_follows_the_flag_and_the_date(api: ApiClient) -> None:
    hidden = post_page(api, published=False)
    path = f"pages/{hidden['id']}.json"

    published = api.put(path, {"page": {"published": True}}).json()["page"]
    again = api.put(path, {"page": {"published": True}}).json()["page"]
    hidden_again = api.put(path, {"page": {"published": False}}).json()["page"]

    assert (hidden["published_at"], hidden_again["published_at"]) == (None, None)
    assert published["published_at"] == again["published_at"] is not None


def test_lists_are_filtered(api: ApiClient) -> None:
    later = (timezone.now() + timedelta(days=2)).isoformat()
    about, hidden = post_page(api), post_page(api, title="Hidden", published=False)
    scheduled = post_page(api, title="Scheduled", published_at=later)

    def get_ids(**query: str) -> list[int]:
        ids = [page["id"] for page in api.get("pages.json", **query).json()["pages"]]
        assert api.get("pages/count.json", **query).json() == {"count": len(ids)}
        return ids

    assert get_ids() == [about["id"], hidden["id"], scheduled["id"]]
    assert get_ids(published_status="published") == [about["id"]]
    assert get_ids(published_status="unpublished") == [hidden["id"], scheduled["id"]]
    assert get_ids(title="Hidden") == get_ids(handle="hidden") == [hidden["id"]]
    assert get_ids(since_id=str(about["id"])) == [hidden["id"], scheduled["id"]]
    assert get_ids(published_at_min=later) == [scheduled["id"]]


@pytest.mark.parametrize(
    ("attrs", "field", "message"),
    [
        ({"title": ""}, "title", "can't be blank"),
        ({"title": None}, "title", "can't be blank"),
        ({"title": "a" * 256}, "title", "is too long (maximum is 255 characters)"),
        ({"body_html": "a" * (512 * 1024 + 1)}, "body_html", "is too long (maximum is 512 KB)"),
        ({"published": "perhaps"}, "published", "is invalid"),
    ],
)
def test_invalid_values_change_nothing(api: ApiClient, shop: Shop, attrs: JsonObject, field: str, message: str) -> None:
    response = api.post("pages.json", {"page": {"title": "About us", **attrs}})

    assert get_errors(response) == {field: [message]}
    with shop_scope(shop):
        assert not Page.objects.exists()
        assert not Event.objects.filter(topic__startswith="pages/").exists()


def test_changes_are_events_of_the_shop(api: ApiClient) -> None:
    page = post_page(api)
    path = f"pages/{page['id']}.json"
    api.put(path, {"page": {"title": "Contact"}})
    api.put(path, {"page": {"title": "Contact"}})
    api.delete(path)

    events = api.get("events.json", filter="Page").json()["events"]
    assert [(row["verb"], row["subject_id"]) for row in events] == [
        (verb, page["id"]) for verb in ("create", "update", "destroy")
    ]


def test_apps_cannot_subscribe_to_pages(api: ApiClient) -> None:
    webhook = {"topic": "pages/create", "address": "https://app.example/hook", "format": "json"}

    assert api.post("webhooks.json", {"webhook": webhook}).status_code == 422


def test_the_navigation_scope_of_existing_apps_is_known(client_with: ClientWith, shop: Shop) -> None:
    assert client_with("read_online_store_navigation").get("redirects.json").status_code == 200


def test_policies_are_read_with_any_token(client_with: ClientWith, shop: Shop) -> None:
    with shop_scope(shop):
        make_policy()
        make_page()

    response = client_with("read_products").get("policies.json")

    assert_fits("policy", "GET /policies.json", response.json())
    (policy,) = response.json()["policies"]
    assert {name: policy[name] for name in ("handle", "title", "body", "url")} == {
        "handle": "refund-policy",
        "title": "Refund policy",
        "body": "<p>Within 30 days.</p>",
        "url": f"https://{shop.domain}/policies/refund-policy",
    }
