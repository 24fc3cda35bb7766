"""Idempotency keys: one effect, the same answer.

Rule: decisions, Idempotency; reliability, M3 to M6.
"""

import json
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from apps.api.models import IdempotencyKey
from apps.api.requests.idempotency import clear_expired
from apps.content.models import ScriptTag
from apps.ground.tenancy import every_shop
from apps.shops.models import Shop
from tests.catalog.factories import PNG, make_product
from tests.conftest import ApiClient, ClientWith
from tests.outgoing.servers import Server, answer

TAG = {"script_tag": {"src": "https://a.example/a.js", "event": "onload"}}


def tags() -> int:
    with every_shop():
        return ScriptTag.objects.count()


def test_the_same_request_again_replays_the_first_answer(api: ApiClient) -> None:
    first = api.post("script_tags.json", TAG, Idempotency_Key="k-1")
    second = api.post("script_tags.json", TAG, Idempotency_Key="k-1")

    assert (first.status_code, second.status_code) == (201, 201)
    assert first.content == second.content
    assert first["Location"] == second["Location"]
    assert second["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first
    assert tags() == 1


def test_another_body_or_path_under_a_key_is_422(api: ApiClient) -> None:
    api.post("script_tags.json", TAG, Idempotency_Key="k-1")

    other = {"script_tag": {**TAG["script_tag"], "cache": True}}
    refused = api.post("script_tags.json", other, Idempotency_Key="k-1")

    assert refused.status_code == 422
    assert tags() == 1


def test_a_key_belongs_to_one_installation(api: ApiClient, client_with: ClientWith) -> None:
    api.post("script_tags.json", TAG, Idempotency_Key="k-1")
    other = client_with("write_script_tags").post("script_tags.json", TAG, Idempotency_Key="k-1")

    assert "Idempotent-Replayed" not in other
    assert tags() == 2


def test_a_refusal_is_not_stored(api: ApiClient) -> None:
    refused = api.post("script_tags.json", {"script_tag": {}}, Idempotency_Key="k-1")
    done = api.post("script_tags.json", TAG, Idempotency_Key="k-1")

    assert (refused.status_code, done.status_code) == (422, 201)


def test_a_replay_downloads_nothing(api: ApiClient, in_shop: Shop, settings: Any) -> None:
    """What the first request fetched may be gone when the second comes."""
    settings.OUTGOING_ALLOW = ["127.0.0.1"]
    path = f"products/{make_product().pk}/images.json"
    server = Server(answer(PNG, "Content-Type: image/png"))
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
    assert tags() == 0


def test_a_key_lives_for_24_hours(api: ApiClient, time_machine: Any) -> None:
    api.post("script_tags.json", TAG, Idempotency_Key="k-1")
    time_machine.move_to(timezone.now() + timedelta(hours=24, minutes=1))
    again = api.post("script_tags.json", TAG, Idempotency_Key="k-1")

    assert "Idempotent-Replayed" not in again
    assert tags() == 2
    time_machine.move_to(timezone.now() + timedelta(hours=24, minutes=1))
    with every_shop():
        assert clear_expired(timezone.now()) == 1
        assert not IdempotencyKey.objects.exists()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_many_at_once_do_the_work_once(client_with: ClientWith) -> None:
    api = client_with("write_script_tags")
    token, path, body = api.token, api.path("script_tags.json"), json.dumps(TAG).encode()
    answers: list[Any] = []
    start = threading.Barrier(20)

    def call() -> None:
        start.wait()
        client = Client(headers={"X-Platform-Access-Token": token, "Idempotency-Key": "once"})
        answers.append(client.post(path, body, content_type="application/json"))
        connection.close()

    threads = [threading.Thread(target=call) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    done = [answer for answer in answers if answer.status_code == 201]
    others = [answer for answer in answers if answer.status_code != 201]
    assert tags() == 1
    assert len({answer.content for answer in done}) == 1
    assert len([answer for answer in done if "Idempotent-Replayed" not in answer]) == 1
    assert all(answer.status_code == 409 and answer["Retry-After"] for answer in others)
    assert len(done) >= 15
