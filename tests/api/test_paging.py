import random
import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings
from time_machine import TimeMachineFixture

from apps.content.models import ScriptTag
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.support.api_client import ApiClient, Response, parse_links


def create_tags(shop: Shop, api: ApiClient, count: int) -> list[int]:
    app = api.installation.app
    with shop_scope(shop):
        rows = ScriptTag.objects.bulk_create(
            [ScriptTag(shop=shop, app=app, src=f"https://a.example/{n}.js") for n in range(count)], batch_size=2000
        )
    return [row.pk for row in rows]


@pytest.fixture
def second_page(api: ApiClient, shop: Shop) -> str:
    """Create three script tags, and return the path of the page with the second one."""
    create_tags(shop, api, 3)
    return parse_links(api.get("script_tags.json", limit=1))["next"]


def get_ids(response: Response) -> list[int]:
    assert response.status_code == 200, response.content
    return [row["id"] for row in response.json()["script_tags"]]


@pytest.mark.slow
def test_rows_that_come_and_go_while_paging_neither_repeat_nor_hide_others(api: ApiClient, shop: Shop) -> None:
    stable = create_tags(shop, api, 10_000)
    chance = random.Random(7)
    doomed = set(chance.sample(stable, 500))
    remaining_ids = [pk for pk in stable if pk not in doomed]
    read_ids: list[int] = []
    response = api.get("script_tags.json", limit=250)

    while True:
        read_ids += get_ids(response)
        with shop_scope(shop):
            ScriptTag.objects.filter(pk__in=[doomed.pop() for _ in range(min(8, len(doomed)))]).delete()
        create_tags(shop, api, 3)
        if "next" not in parse_links(response):
            break
        response = api.http.get(parse_links(response)["next"])

    assert len(read_ids) == len(set(read_ids))
    assert set(remaining_ids) <= set(read_ids)

    back: list[int] = []
    while True:
        back = get_ids(response) + back
        if "previous" not in parse_links(response):
            break
        response = api.http.get(parse_links(response)["previous"])
        create_tags(shop, api, 1)
    assert len(back) == len(set(back))
    assert back == sorted(back)
    assert set(remaining_ids) <= set(back)


def test_links_contain_only_relations_that_exist(api: ApiClient, shop: Shop) -> None:
    create_tags(shop, api, 5)

    first = api.get("script_tags.json", limit=2)
    middle = api.http.get(parse_links(first)["next"])
    last = api.http.get(parse_links(middle)["next"])
    previous_page = api.http.get(parse_links(middle)["previous"])

    assert [set(parse_links(page)) for page in (first, middle, last)] == [{"next"}, {"next", "previous"}, {"previous"}]
    assert get_ids(previous_page) == get_ids(first)
    assert set(parse_links(previous_page)) == {"next"}


def test_the_token_carries_the_filters_of_the_first_request(api: ApiClient, shop: Shop) -> None:
    expected_ids = create_tags(shop, api, 6)

    first = api.get("script_tags.json", limit=2, since_id=expected_ids[1], fields="id")
    second = api.http.get(parse_links(first)["next"])

    assert get_ids(first) + get_ids(second) == expected_ids[2:6]
    assert second.json()["script_tags"][0].keys() == {"id"}


def test_filters_with_a_page_token_are_400(api: ApiClient, second_page: str) -> None:
    response = api.http.get(f"{second_page}&src=https://a.example/1.js")

    assert response.status_code == 400
    assert response.json() == {"errors": {"src": "cannot be passed with page_info"}}


def test_a_token_opens_nothing_elsewhere(api: ApiClient, other_shop_api: ApiClient, second_page: str) -> None:
    token = second_page.partition("page_info=")[2]
    body, _, signature = token.partition(".")
    changed = body[:-2] + ("AA" if body[-2:] != "AA" else "BB") + "." + signature

    responses = [
        other_shop_api.get("script_tags.json", page_info=token),
        api.get("script_tags.json", page_info=changed),
        api.get("script_tags.json", page_info=token[:-1]),
    ]

    assert [response.status_code for response in responses] == [400, 400, 400]
    assert responses[0].json() == {"errors": {"page_info": "Invalid value."}}
    assert not re.search(r"[=,+/]", token)


def test_an_old_token_has_expired(api: ApiClient, second_page: str, time_machine: TimeMachineFixture) -> None:
    time_machine.move_to(timezone.now() + timedelta(days=8))

    assert api.http.get(second_page).status_code == 400


def test_a_token_outlives_a_change_of_the_secret_key(api: ApiClient, second_page: str, settings: Settings) -> None:
    former = settings.SECRET_KEY
    settings.SECRET_KEY = "another"
    refused = api.http.get(second_page)
    settings.SECRET_KEY_FALLBACKS = [former]

    assert (refused.status_code, api.http.get(second_page).status_code) == (400, 200)


def test_a_known_entity_tag_never_vouches_for_links_that_have_expired(
    api: ApiClient, shop: Shop, time_machine: TimeMachineFixture
) -> None:
    create_tags(shop, api, 3)
    begin = timezone.now()
    page = api.path("script_tags.json")
    first = api.get("script_tags.json", limit=1)
    following, tag = parse_links(first)["next"], first["ETag"]

    for hours in range(0, 200, 5):
        time_machine.move_to(begin + timedelta(hours=hours))
        not_modified = api.http.get(page, {"limit": 1}, headers={"If-None-Match": tag})
        if not_modified.status_code == 200:
            following, tag = parse_links(not_modified)["next"], not_modified["ETag"]
        assert api.http.get(following).status_code == 200

    etag = api.get("script_tags.json")["ETag"]
    time_machine.move_to(begin + timedelta(days=30))
    # A page without links contains no cursor that could expire.
    assert api.http.get(page, headers={"If-None-Match": etag}).status_code == 304


def test_fields_narrow_what_is_read(api: ApiClient, shop: Shop) -> None:
    create_tags(shop, api, 2)

    with CaptureQueriesContext(connection) as queries:
        response = api.get("script_tags.json", fields="id, display-scope")

    assert response.json()["script_tags"][0].keys() == {"id", "display_scope"}
    assert not any('"src"' in query["sql"] for query in queries)
