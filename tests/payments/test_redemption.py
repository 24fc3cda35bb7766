"""Tests for redeeming wallet tokens: only once, only before they expire, and only for the bound checkout."""

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.events.recording import audiences
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.payments.domain import token_redemption
from apps.payments.models import PaymentHandlerConfig, TokenRedemption
from tests.support import factories
from tests.support.api_client import ApiClient, ClientWith, Response
from tests.support.databases.races import run_concurrently, without_constraint
from tests.support.databases.snapshots import snapshot_database
from tests.support.factories.payments import make_handler
from tests.support.subtests import Subtests
from tests.support.types import JsonObject

TOKEN = "tok_5up3r_5ecret"
CREDENTIAL: JsonObject = {"type": "wallet_token", "token": TOKEN}
INSTRUMENT = {
    "id": "pi-1",
    "handler_id": "wallet_pay",
    "type": "wallet_pay",
    "display": {"email": "anna@example.com"},
    "credential": CREDENTIAL,
}


def build_redemption(checkout_id: str = "c-1", **credential: Any) -> JsonObject:
    return {"checkout_id": checkout_id, "payment_instrument": INSTRUMENT | {"credential": CREDENTIAL | credential}}


def post_redemption(api: ApiClient, handler: PaymentHandlerConfig, body: object, **headers: str) -> Response:
    return api.post(f"payment_handlers/{handler.pk}/redemptions.json", {"redemption": body}, **headers)


def format_moment(**ago: int) -> str:
    return (timezone.now() - timedelta(**ago)).isoformat(timespec="seconds")


@pytest.fixture
def handler(shop: Shop) -> PaymentHandlerConfig:
    with shop_scope(shop):
        return make_handler()


def test_a_token_is_accepted_and_none_of_it_is_anywhere(
    api: ApiClient,
    shop: Shop,
    handler: PaymentHandlerConfig,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def audience(shop: Shop, topic: str) -> frozenset[str]:
        return frozenset({"2026-07"})

    monkeypatch.setitem(audiences, audience, None)
    caplog.set_level(logging.DEBUG)
    body = build_redemption(binding={"checkout_id": "c-1", "shop_id": "942252"}, expiry=format_moment(minutes=-30))

    answers = [post_redemption(api, handler, body, idempotency_key="once") for _ in range(2)]
    answers += [post_redemption(api, handler, body), post_redemption(api, handler, build_redemption(token=[TOKEN]))]

    assert [response.status_code for response in answers] == [201, 201, 422, 422]
    redemption = answers[0].json()["redemption"]
    assert redemption | {"id": 0, "created_at": ""} == {
        "id": 0,
        "handler_id": "wallet_pay",
        "checkout_id": "c-1",
        "instrument_id": "pi-1",
        "created_at": "",
    }
    with shop_scope(shop):
        event = Event.objects.get(topic="payment_handlers/redeem")
    assert (event.subject_id, event.actor) == (handler.pk, f"app:{api.installation.app_id}")
    text = str(snapshot_database())
    assert "pi-1" in text
    for index in (text, caplog.text, str([response.content for response in answers])):
        assert TOKEN not in index
        assert "anna@example.com" not in index


def test_a_token_is_accepted_once_across_shops(
    api: ApiClient, other_shop_api: ApiClient, handler: PaymentHandlerConfig, other_shop: Shop
) -> None:
    with shop_scope(other_shop):
        theirs = make_handler(config={"shop_id": "theirs"})

    answers = [
        post_redemption(api, handler, build_redemption()),
        post_redemption(api, handler, build_redemption("c-2")),
        post_redemption(other_shop_api, theirs, build_redemption()),
    ]
    api.delete(f"payment_handlers/{handler.pk}.json")
    with shop_scope(handler.shop):
        second_result = post_redemption(api, make_handler(), build_redemption())

    errors = {"errors": {"payment_instrument.credential.token": ["has already been taken"]}}
    assert answers[0].status_code == 201
    assert [(response.status_code, response.json()) for response in (*answers[1:], second_result)] == [
        (422, errors)
    ] * 3


REFUSED: list[tuple[JsonObject, dict[str, list[str]]]] = [
    ({}, {"checkout_id": ["can't be blank"], "payment_instrument": ["can't be blank"]}),
    (build_redemption("x" * 256), {"checkout_id": ["is too long (maximum is 255 characters)"]}),
    (
        {"checkout_id": 5, "payment_instrument": "s"},
        {"checkout_id": ["is invalid"], "payment_instrument": ["is invalid"]},
    ),
    (
        {"checkout_id": "c-1", "payment_instrument": {}},
        {f"payment_instrument.{name}": ["can't be blank"] for name in ("id", "handler_id", "type", "credential")},
    ),
    (
        {"checkout_id": "c-1", "payment_instrument": INSTRUMENT | {"id": "x" * 256}},
        {"payment_instrument.id": ["is too long (maximum is 255 characters)"]},
    ),
    (
        {"checkout_id": "c-1", "payment_instrument": INSTRUMENT | {"handler_id": "other"}},
        {"payment_instrument.handler_id": ["is not included in the list"]},
    ),
    (
        {"checkout_id": "c-1", "payment_instrument": INSTRUMENT | {"display": {"a": [[[[[[[[[1]]]]]]]]]}}},
        {"payment_instrument.display": ["is nested more than 8 levels deep"]},
    ),
    (build_redemption(token=""), {"payment_instrument.credential.token": ["can't be blank"]}),
    (build_redemption(token="a\x00"), {"payment_instrument.credential.token": ["is invalid"]}),
    (build_redemption(type="card"), {"payment_instrument.credential.type": ["is not included in the list"]}),
    (build_redemption(expiry="soon"), {"payment_instrument.credential.expiry": ["is invalid"]}),
    (build_redemption(expiry=format_moment(minutes=1)), {"payment_instrument.credential.expiry": ["has expired"]}),
    (build_redemption(expiry="2001-02-03t04:05:06z"), {"payment_instrument.credential.expiry": ["has expired"]}),
    (
        build_redemption(binding={"checkout_id": "c-2"}),
        {"payment_instrument.credential.binding.checkout_id": ["does not match the expected value"]},
    ),
    (
        build_redemption(binding={"checkout_id": "c-1", "shop_id": "theirs"}),
        {"payment_instrument.credential.binding.shop_id": ["does not match the expected value"]},
    ),
    (build_redemption(binding="c-1"), {"payment_instrument.credential.binding": ["is invalid"]}),
]


def test_tokens_for_another_checkout_are_refused_and_stay_usable(api: ApiClient, handler: PaymentHandlerConfig) -> None:
    before = snapshot_database()

    with Subtests() as checks:
        for body, expected in REFUSED:
            with checks(expected):
                response = post_redemption(api, handler, body)
                assert (response.status_code, response.json()) == (422, {"errors": expected})
                assert snapshot_database() == before
    assert post_redemption(api, handler, build_redemption()).status_code == 201


def test_a_handler_that_is_off_accepts_nothing(api: ApiClient, handler: PaymentHandlerConfig) -> None:
    api.put(f"payment_handlers/{handler.pk}.json", {"payment_handler": {"enabled": False}})

    response = post_redemption(api, handler, build_redemption())

    assert (response.status_code, response.json()) == (
        422,
        {"errors": {"base": ["The payment handler is not enabled"]}},
    )


def test_accepting_asks_for_the_writing_scope_and_the_shops_own_handler(
    client_with: ClientWith, other_shop_api: ApiClient, handler: PaymentHandlerConfig
) -> None:
    assert post_redemption(client_with("read_payment_handlers"), handler, build_redemption()).status_code == 403
    assert post_redemption(other_shop_api, handler, build_redemption()).status_code == 404


# --- the same token concurrently ---


def create_shop_with_handler() -> tuple[Shop, PaymentHandlerConfig]:
    shop = factories.make_shop()
    with shop_scope(shop):
        return shop, make_handler()


def build_redeem_work(handler: PaymentHandlerConfig, token: str, checkout_id: str = "c-1") -> Callable[[], object]:
    return lambda: (
        token_redemption.redeem_token(
            handler, build_redemption(checkout_id, token=token), actor="app:1", at=timezone.now()
        ).pk
    )


def count_redemptions() -> int:
    with all_shops_scope():
        return TokenRedemption.objects.count()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_a_token_is_accepted_twice_without_the_unique_key")
def test_a_token_redeemed_twice_concurrently_is_accepted_once() -> None:
    shop, handler = create_shop_with_handler()

    for number in range(5):
        works = [build_redeem_work(handler, f"t{number}", f"c-{index}") for index in range(2)]
        results = run_concurrently(shop, *works, expected_errors=IntegrityError)

        assert [type(result) for result in results].count(IntegrityError) == 1
        assert count_redemptions() == number + 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_token_is_accepted_twice_without_the_unique_key() -> None:
    """Show what goes wrong without the unique key: a token can be redeemed twice."""
    shop, handler = create_shop_with_handler()

    with without_constraint(TokenRedemption, "digest"):
        run_concurrently(shop, build_redeem_work(handler, "t"), build_redeem_work(handler, "t"))
        assert count_redemptions() == 2
