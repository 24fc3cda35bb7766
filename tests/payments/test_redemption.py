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
from tests.support.api_client import ApiClient, Response, get_errors
from tests.support.databases.races import run_concurrently, without_constraint
from tests.support.databases.snapshots import snapshot_database
from tests.support.factories.payments import make_handler
from tests.support.subtests import Subtests
from tests.support.types import JsonObject

TOKEN = "tok_5up3r_5ecret"
CREDENTIAL: JsonObject = {"type": "wallet_token", "token": TOKEN}
IDS = {"id": "pi-1", "handler_id": "wallet_pay", "type": "wallet_pay"}
INSTRUMENT = {**IDS, "display": {"email": "anna@example.com"}, "credential": CREDENTIAL}


def build_redemption(checkout_id: str = "c-1", **credential: Any) -> JsonObject:
    return {"checkout_id": checkout_id, "payment_instrument": INSTRUMENT | {"credential": CREDENTIAL | credential}}


def post_redemption(api: ApiClient, handler: PaymentHandlerConfig, body: object, **headers: str) -> Response:
    return api.post(f"payment_handlers/{handler.pk}/redemptions.json", {"redemption": body}, **headers)


def format_moment(**ago: int) -> str:
    return (timezone.now() - timedelta(**ago)).isoformat(timespec="seconds")


@pytest.fixture
def handler(in_shop: Shop) -> PaymentHandlerConfig:
    return make_handler()


def test_a_token_is_accepted_and_none_of_it_is_anywhere(
    api: ApiClient,
    in_shop: Shop,
    handler: PaymentHandlerConfig,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def audience(shop: Shop, topic: str) -> frozenset[str]:
        return frozenset({"2026-10"})

    monkeypatch.setitem(audiences, audience, None)
    caplog.set_level(logging.DEBUG)
    body = build_redemption(binding={"checkout_id": "c-1", "shop_id": "942252"}, expiry=format_moment(minutes=-30))

    answers = [post_redemption(api, handler, body, idempotency_key="once") for _ in range(2)]
    answers += [post_redemption(api, handler, body), post_redemption(api, handler, build_redemption(token=[TOKEN]))]

    assert [response.status_code for response in answers] == [201, 201, 422, 422]
    redemption = answers[0].json()["redemption"]
    ids = {"handler_id": "wallet_pay", "checkout_id": "c-1", "instrument_id": "pi-1"}
    assert redemption | {"id": 0, "created_at": ""} == {"id": 0, **ids, "created_at": ""}
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

    assert post_redemption(api, handler, build_redemption()).status_code == 201
    refused = [
        post_redemption(api, handler, build_redemption("c-2")),
        post_redemption(other_shop_api, theirs, build_redemption()),
    ]
    api.delete(f"payment_handlers/{handler.pk}.json")
    with shop_scope(handler.shop):
        refused.append(post_redemption(api, make_handler(), build_redemption()))

    taken = {"payment_instrument.credential.token": ["has already been taken"]}
    assert [get_errors(response) for response in refused] == [taken] * 3


def build_instrument(**changes: object) -> JsonObject:
    return {"checkout_id": "c-1", "payment_instrument": INSTRUMENT | changes}


# Bodies, and their errors by field of the payment instrument.
REFUSED: list[tuple[JsonObject, dict[str, str]]] = [
    (
        {"checkout_id": "c-1", "payment_instrument": {}},
        dict.fromkeys(("id", "handler_id", "type", "credential"), "can't be blank"),
    ),
    (build_instrument(id="x" * 256), {"id": "is too long (maximum is 255 characters)"}),
    (build_instrument(handler_id="other"), {"handler_id": "is not included in the list"}),
    (build_instrument(display={"a": [[[[[[[[[1]]]]]]]]]}), {"display": "is nested more than 8 levels deep"}),
    (build_redemption(token=""), {"credential.token": "can't be blank"}),
    (build_redemption(token="a\x00"), {"credential.token": "is invalid"}),
    (build_redemption(type="card"), {"credential.type": "is not included in the list"}),
    (build_redemption(expiry="soon"), {"credential.expiry": "is invalid"}),
    (build_redemption(expiry=format_moment(minutes=1)), {"credential.expiry": "has expired"}),
    (build_redemption(expiry="2001-02-03t04:05:06z"), {"credential.expiry": "has expired"}),
    (
        build_redemption(binding={"checkout_id": "c-2"}),
        {"credential.binding.checkout_id": "does not match the expected value"},
    ),
    (
        build_redemption(binding={"checkout_id": "c-1", "shop_id": "theirs"}),
        {"credential.binding.shop_id": "does not match the expected value"},
    ),
    (build_redemption(binding="c-1"), {"credential.binding": "is invalid"}),
]
REFUSED_BODIES: list[tuple[JsonObject, dict[str, list[str]]]] = [
    ({}, {"checkout_id": ["can't be blank"], "payment_instrument": ["can't be blank"]}),
    (build_redemption("x" * 256), {"checkout_id": ["is too long (maximum is 255 characters)"]}),
    (
        {"checkout_id": 5, "payment_instrument": "s"},
        {"checkout_id": ["is invalid"], "payment_instrument": ["is invalid"]},
    ),
    *((body, {f"payment_instrument.{name}": [text] for name, text in errors.items()}) for body, errors in REFUSED),
]


def test_tokens_for_another_checkout_are_refused_and_stay_usable(api: ApiClient, handler: PaymentHandlerConfig) -> None:
    before = snapshot_database()

    with Subtests() as checks:
        for body, expected in REFUSED_BODIES:
            with checks(expected):
                assert get_errors(post_redemption(api, handler, body)) == expected
                assert snapshot_database() == before
    assert post_redemption(api, handler, build_redemption()).status_code == 201


def test_a_handler_that_is_off_accepts_nothing(api: ApiClient, handler: PaymentHandlerConfig) -> None:
    api.put(f"payment_handlers/{handler.pk}.json", {"payment_handler": {"enabled": False}})

    response = post_redemption(api, handler, build_redemption())

    assert get_errors(response) == {"base": ["The payment handler is not enabled"]}


# --- the same token concurrently ---


def create_shop_with_handler() -> tuple[Shop, PaymentHandlerConfig]:
    shop = factories.make_shop()
    with shop_scope(shop):
        return shop, make_handler()


def build_redeem_work(handler: PaymentHandlerConfig, token: str, checkout_id: str = "c-1") -> Callable[[], object]:
    body = build_redemption(checkout_id, token=token)
    return lambda: token_redemption.redeem_token(handler, body, actor="app:1", at=timezone.now()).pk


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
