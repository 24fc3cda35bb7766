import io
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings
from time_machine import TimeMachineFixture

from apps.content.models import ScriptTag
from apps.core.rest.models import IdempotencyKey
from apps.core.rest.requests.idempotency import delete_expired_keys
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope
from apps.core.types import Attrs
from tests.support import factories
from tests.support.api_client import ApiClient, ClientWith, Response
from tests.support.databases.races import run_concurrently, run_unguarded, without_constraint
from tests.support.factories.catalog import PNG, make_product
from tests.support.servers.http import Server, send_response

METAFIELD = {"namespace": "care", "key": "wash", "value": "Cold", "type": "single_line_text_field"}
TAG = {"script_tag": {"src": "https://a.example/a.js", "event": "onload"}}


def post_tag(api: ApiClient, *, path: str = "script_tags.json", key: str = "k-1", **changes: object) -> Response:
    return api.post(path, {"script_tag": TAG["script_tag"] | changes}, Idempotency_Key=key)


def count_tags() -> int:
    with all_shops_scope():
        return ScriptTag.objects.count()


def test_the_same_request_again_replays_the_first_answer(api: ApiClient) -> None:
    first, second = post_tag(api), post_tag(api)

    assert (first.status_code, second.status_code) == (201, 201)
    assert (first.content, first["Location"]) == (second.content, second["Location"])
    assert (first.get("Idempotent-Replayed"), second["Idempotent-Replayed"]) == (None, "true")
    assert count_tags() == 1


def test_another_body_or_path_under_a_key_is_422(api: ApiClient) -> None:
    post_tag(api)

    assert post_tag(api, cache=True).status_code == 422
    assert post_tag(api, path="blogs.json").status_code == 422
    assert count_tags() == 1


def test_another_query_under_a_key_is_422(api: ApiClient) -> None:
    first, same, other = (post_tag(api, path=f"script_tags.json?fields={name}") for name in ("id", "id", "src"))

    assert (first.status_code, same["Idempotent-Replayed"], other.status_code) == (201, "true", 422)
    assert count_tags() == 1


def test_a_replay_answers_what_was_stored_when_the_parent_is_gone(api: ApiClient, in_shop: Shop) -> None:
    product = make_product()
    path, body = f"products/{product.pk}/metafields.json", {"metafield": METAFIELD}
    first = api.post(path, body, Idempotency_Key="k-1")
    assert api.delete(f"products/{product.pk}.json").status_code == 200

    replay = api.post(path, body, Idempotency_Key="k-1")
    other_key = api.post(path, body, Idempotency_Key="k-2")

    assert (first.status_code, replay.status_code, other_key.status_code) == (201, 201, 404)
    assert replay.content == first.content


class UnreadableBody(io.BytesIO):
    """A request body that fails the test when read."""

    def read(self, *_: object) -> bytes:
        raise AssertionError("the body was read")


@pytest.mark.parametrize(
    ("length", "status"), [("2097152", 413), ("9" * 5001, 413), ("x", 400)], ids=["large", "digits", "none"]
)
def test_a_body_beyond_the_limit_is_not_read_under_a_key(api: ApiClient, length: str, status: int) -> None:
    announced: Attrs = {"CONTENT_LENGTH": length, "wsgi.input": UnreadableBody(), "HTTP_IDEMPOTENCY_KEY": "k-1"}

    response = api.http.post(api.path("script_tags.json"), b"{}", content_type="application/json", **announced)

    assert response.status_code == status


def test_a_key_belongs_to_one_installation(api: ApiClient, client_with: ClientWith) -> None:
    post_tag(api)
    other = post_tag(client_with("write_script_tags"))

    assert "Idempotent-Replayed" not in other
    assert count_tags() == 2


def test_a_refusal_is_not_stored(api: ApiClient) -> None:
    refused, successful = post_tag(api, src=""), post_tag(api)

    assert (refused.status_code, successful.status_code) == (422, 201)


def test_a_replay_downloads_nothing(api: ApiClient, in_shop: Shop, settings: Settings) -> None:
    """Close the file server after the first request: a replay must not need the image's URL."""
    settings.OUTGOING_ALLOW = ["127.0.0.1"]
    path = f"products/{make_product().pk}/images.json"
    server = Server(send_response(PNG, "Content-Type: image/png"))
    try:
        first = api.post(path, {"image": {"src": server.url}}, Idempotency_Key="k-1")
    finally:
        server.close()

    second = api.post(path, {"image": {"src": server.url}}, Idempotency_Key="k-1")

    assert (first.status_code, second.status_code) == (201, 201), second.content
    assert first.content == second.content


@pytest.mark.parametrize("key", ["", "x" * 256])
def test_a_key_that_is_none_is_400(api: ApiClient, key: str) -> None:
    assert post_tag(api, key=key).status_code == 400
    assert count_tags() == 0


def test_a_key_lives_for_24_hours(api: ApiClient, time_machine: TimeMachineFixture) -> None:
    post_tag(api)
    time_machine.move_to(timezone.now() + timedelta(hours=24, minutes=1))

    assert "Idempotent-Replayed" not in post_tag(api)
    assert count_tags() == 2
    time_machine.move_to(timezone.now() + timedelta(hours=24, minutes=1))
    with all_shops_scope():
        assert delete_expired_keys(timezone.now()) == 1
        assert not IdempotencyKey.objects.exists()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_the_work_is_done_twice_without_the_unique_key")
def test_many_at_once_do_the_work_once(client_with: ClientWith, shop: Shop) -> None:
    api = client_with("write_script_tags")

    def post() -> Response:
        return post_tag(ApiClient(api.token, api.installation))

    responses = run_concurrently(shop, *[post] * 20)

    successful = [response for response in responses if response.status_code == 201]
    conflicts = [response for response in responses if response.status_code != 201]
    assert count_tags() == 1
    assert len({response.content for response in successful}) == 1
    assert len([response for response in successful if "Idempotent-Replayed" not in response]) == 1
    assert all(response.status_code == 409 and response["Retry-After"] for response in conflicts)
    assert len(successful) >= 15


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_the_work_is_done_twice_without_the_unique_key(api: ApiClient, shop: Shop) -> None:
    """Show what goes wrong without the constraint: neither request sees the other request's uncommitted key."""
    # Use separate tokens: requests with one token would wait for each other to update the token's last use.
    clients = [ApiClient(factories.make_token(api.installation), api.installation) for _ in range(2)]

    def post() -> int:
        return post_tag(clients.pop()).status_code

    with without_constraint(IdempotencyKey, "installation_id", "key"):
        assert run_unguarded(shop, post, post) == 201

    assert count_tags() == 2
