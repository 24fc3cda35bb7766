"""Idempotency keys: a repeated request has no effect and returns the first response.

See checks M3 to M6 in docs/reliability.md.
"""

import io
import json
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings
from time_machine import TimeMachineFixture

from apps.content.models import ScriptTag
from apps.core.rest.models import IdempotencyKey
from apps.core.rest.requests.idempotency import delete_expired_keys
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope
from tests.support import factories
from tests.support.api_client import ApiClient, ClientWith
from tests.support.databases.races import run_unguarded, without_constraint
from tests.support.factories.catalog import PNG, make_product
from tests.support.servers.http import Server, send_response

METAFIELD = {"namespace": "care", "key": "wash", "value": "Cold", "type": "single_line_text_field"}
TAG = {"script_tag": {"src": "https://a.example/a.js", "event": "onload"}}


def count_tags() -> int:
    with all_shops_scope():
        return ScriptTag.objects.count()


def test_the_same_request_again_replays_the_first_answer(api: ApiClient) -> None:
    first = api.post("script_tags.json", TAG, Idempotency_Key="k-1")
    second = api.post("script_tags.json", TAG, Idempotency_Key="k-1")

    assert (first.status_code, second.status_code) == (201, 201)
    assert first.content == second.content
    assert first["Location"] == second["Location"]
    assert second["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first
    assert count_tags() == 1


def test_another_body_or_path_under_a_key_is_422(api: ApiClient) -> None:
    api.post("script_tags.json", TAG, Idempotency_Key="k-1")

    other = {"script_tag": {**TAG["script_tag"], "cache": True}}
    refused = api.post("script_tags.json", other, Idempotency_Key="k-1")

    assert refused.status_code == 422
    assert count_tags() == 1


def test_another_query_under_a_key_is_422(api: ApiClient) -> None:
    first = api.post("script_tags.json?fields=id", TAG, Idempotency_Key="k-1")
    same = api.post("script_tags.json?fields=id", TAG, Idempotency_Key="k-1")
    other = api.post("script_tags.json?fields=src", TAG, Idempotency_Key="k-1")

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
    announced = {"CONTENT_LENGTH": length, "wsgi.input": UnreadableBody()}

    response = api.http.post(
        api.path("script_tags.json"),
        b"{}",
        content_type="application/json",
        headers={"Idempotency-Key": "k-1"},
        **announced,  # type: ignore[arg-type]
    )

    assert response.status_code == status


def test_a_key_belongs_to_one_installation(api: ApiClient, client_with: ClientWith) -> None:
    api.post("script_tags.json", TAG, Idempotency_Key="k-1")
    other = client_with("write_script_tags").post("script_tags.json", TAG, Idempotency_Key="k-1")

    assert "Idempotent-Replayed" not in other
    assert count_tags() == 2


def test_a_refusal_is_not_stored(api: ApiClient) -> None:
    refused = api.post("script_tags.json", {"script_tag": {}}, Idempotency_Key="k-1")
    successful = api.post("script_tags.json", TAG, Idempotency_Key="k-1")

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
    response = api.post("script_tags.json", TAG, Idempotency_Key=key)

    assert response.status_code == 400
    assert count_tags() == 0


def test_a_key_lives_for_24_hours(api: ApiClient, time_machine: TimeMachineFixture) -> None:
    api.post("script_tags.json", TAG, Idempotency_Key="k-1")
    time_machine.move_to(timezone.now() + timedelta(hours=24, minutes=1))
    replay = api.post("script_tags.json", TAG, Idempotency_Key="k-1")

    assert "Idempotent-Replayed" not in replay
    assert count_tags() == 2
    time_machine.move_to(timezone.now() + timedelta(hours=24, minutes=1))
    with all_shops_scope():
        assert delete_expired_keys(timezone.now()) == 1
        assert not IdempotencyKey.objects.exists()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_the_work_is_done_twice_without_the_unique_key")
def test_many_at_once_do_the_work_once(client_with: ClientWith) -> None:
    api = client_with("write_script_tags")
    token, path, body = api.token, api.path("script_tags.json"), json.dumps(TAG).encode()
    responses: list[Any] = []
    start = threading.Barrier(20)

    def call() -> None:
        start.wait()
        client = Client(headers={"X-Platform-Access-Token": token, "Idempotency-Key": "once"})
        responses.append(client.post(path, body, content_type="application/json"))
        connection.close()

    threads = [threading.Thread(target=call) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

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
        return clients.pop().post("script_tags.json", TAG, Idempotency_Key="once").status_code

    with without_constraint(IdempotencyKey, "installation_id", "key"):
        assert run_unguarded(shop, post, post) == 201

    assert count_tags() == 2
