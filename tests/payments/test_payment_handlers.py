import logging
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.db.constraint_errors import find_violated_constraint
from apps.core.events.models import Event
from apps.core.events.recording import audiences
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope
from apps.payments.domain import entry_validation, handlers, schemas
from apps.payments.models import PaymentHandlerConfig, WalletShop
from tests.support.api_client import ApiClient, Response, get_errors
from tests.support.databases.snapshots import snapshot_database
from tests.support.factories.payments import BODY, CONFIG, VERSION, deep_copy, make_handler
from tests.support.subtests import Subtests
from tests.support.types import JsonObject

LIST = "payment_handlers.json"


def post_handler(api: ApiClient, **changes: Any) -> Response:
    return api.post(LIST, {"payment_handler": BODY | changes})


def post_valid_handler(api: ApiClient, **changes: Any) -> JsonObject:
    response = post_handler(api, **changes)
    assert response.status_code == 201, response.content
    return response.json()["payment_handler"]


def put_handler(api: ApiClient, handler: JsonObject, **changes: object) -> Response:
    return api.put(f"payment_handlers/{handler['id']}.json", {"payment_handler": changes})


def test_a_handler_is_shown_with_where_its_schema_is_published(api: ApiClient) -> None:
    handler = post_valid_handler(api)

    assert api.get(LIST).json() == {"payment_handlers": [handler]}
    assert handler | {"id": 0, "created_at": "", "updated_at": ""} == {
        "id": 0,
        "name": "dev.platform.wallet_pay",
        "handler_id": "wallet_pay",
        "version": VERSION,
        "spec": schemas.get_spec_url(VERSION),
        "schema": schemas.get_schema_url(VERSION),
        "available_instruments": None,
        "config": {"shop_id": "942252"},
        "enabled": True,
        "created_at": "",
        "updated_at": "",
    }


def test_a_change_keeps_unnamed_fields_and_a_removed_handler_is_gone(api: ApiClient) -> None:
    handler = post_valid_handler(api, available_instruments=[{"type": "wallet_pay"}])
    path = f"payment_handlers/{handler['id']}.json"

    changed = put_handler(api, handler, enabled=False, available_instruments=None).json()["payment_handler"]

    kept = {"updated_at": handler["updated_at"]}
    assert changed | kept == handler | {"enabled": False, "available_instruments": None}
    assert (api.delete(path).json(), api.get(path).status_code) == ({}, 404)


def test_every_change_leaves_one_event_with_what_it_was_before(api: ApiClient, in_shop: Shop) -> None:
    handler = post_valid_handler(api)
    for _ in range(2):
        put_handler(api, handler, config={"shop_id": "942252", "environment": "sandbox"})
    api.delete(f"payment_handlers/{handler['id']}.json")

    events = list(Event.objects.filter(topic__startswith="payment_handlers/").order_by("id"))
    assert [event.topic.split("/")[1] for event in events] == ["create", "update", "delete"]
    before, after = {"shop_id": "942252"}, {"shop_id": "942252", "environment": "sandbox"}
    assert events[1].changes == {"config": [before, after], "environment": ["production", "sandbox"]}


# --- validation errors ---

SECRET = ["must not be published because it looks like a secret"]
UNKNOWN = ["is not included in the list"]
INVALID = ["is invalid"]
LARGE = {"config": ["is too large (maximum is 16 KB)"]}
# Members of the body, and the errors. The schemas' own errors are in test_schemas.py.
REFUSED: list[tuple[JsonObject, dict[str, list[str]]]] = [
    (
        {"handler_id": "", "version": "x", "config": {}},
        {"handler_id": ["can't be blank"], "version": INVALID, "config.shop_id": ["can't be blank"]},
    ),
    ({"config": "s"}, {"config": INVALID}),
    ({"version": "2026-08-25"}, {"version": UNKNOWN}),
    ({"version": "2026-04-08\n"}, {"version": ["is too long (maximum is 10 characters)"]}),
    ({"schema": "https://a.example/schema.json"}, {"schema": INVALID}),
    ({"schema": ["x"]}, {"schema": INVALID}),
    ({"available_instruments": [{"type": "card"}]}, {"available_instruments.0.type": UNKNOWN}),
    (
        {"config": CONFIG | {"supported_currencies": ["EUR", "XXX", "EEK", "QQQ"]}},
        {"config.supported_currencies.1": UNKNOWN, "config.supported_currencies.3": UNKNOWN},
    ),
    ({"config": CONFIG | {"supported_countries": ["FR", "ZZ"]}}, {"config.supported_countries.1": UNKNOWN}),
    ({"config": CONFIG | {"api_key": "x"}}, {"config.api_key": SECRET}),
    (
        {"config": CONFIG | {"Nested": {"PASSWORD": "x", "list": [{"private-key": 1}]}}},
        {"config.Nested.PASSWORD": SECRET, "config.Nested.list.0.private-key": SECRET},
    ),
    (
        {"config": CONFIG | {"webhookSecret": 1, "accessToken": 2, "apiKey": 3}},
        {f"config.{name}": SECRET for name in ("webhookSecret", "accessToken", "apiKey")},
    ),
    (
        {"available_instruments": [{"type": "wallet_pay", "constraints": {"client_secret": "x"}}]},
        {"available_instruments.0.constraints.client_secret": SECRET},
    ),
    *(({"config": CONFIG | {"x": long}}, LARGE) for long in ("y" * 16_384, "é" * 9_000, "y" * 1_000_000)),
    ({"config": CONFIG | {"a": [[[[[[[[1]]]]]]]]}}, {"config": ["is nested more than 8 levels deep"]}),
    *(({"config": CONFIG | {"x": bad}}, {"config.x": INVALID}) for bad in (2**63, "a\x00", "a\ud800")),
    ({"enabled": "perhaps"}, {"enabled": INVALID}),
]


def test_values_that_must_not_be_published_are_refused_by_field(api: ApiClient, no_network: None) -> None:
    before = snapshot_database()

    with Subtests() as checks:
        for body, expected in REFUSED:
            with checks(expected):
                assert (get_errors(post_handler(api, **body)), snapshot_database()) == (expected, before)


@pytest.mark.parametrize("number", [b"1e400", b"0.1000000000000000055511151231257827", b"9" * 40])
def test_numbers_that_would_not_come_back_are_refused(api: ApiClient, number: bytes) -> None:
    body = b'{"payment_handler": {"handler_id": "a", "version": "2026-04-08", "config": {"shop_id": "1", "x": %s}}}'

    assert get_errors(api.post(LIST, body % number)) == {"config.x": ["is invalid"]}


def test_harmless_unknown_members_are_kept_as_they_are(api: ApiClient, no_network: None) -> None:
    odd = {"__proto__": {"a": 1}, "$ref": "https://a.example/x.json", "$id": "x", "rate": 1.5, "none": None, "": [True]}

    handler = post_valid_handler(api, config=CONFIG | odd)

    assert handler["config"] == CONFIG | odd
    assert api.get(f"payment_handlers/{handler['id']}.json").json()["payment_handler"] == handler


VALID = st.fixed_dictionaries(
    {
        "id": st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=128),
        "version": st.just(VERSION),
        "config": st.fixed_dictionaries(
            {"shop_id": st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")},
            optional={
                "merchant_id": st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z"),
                "merchant_name": st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=100),
                "environment": st.sampled_from(["sandbox", "production"]),
                "supported_currencies": st.lists(st.sampled_from(["EUR", "USD", "JPY"]), min_size=1, unique=True),
                "supported_countries": st.lists(st.sampled_from(["FR", "US", "SE"]), min_size=1, unique=True),
                "more": st.one_of(st.integers(-(2**63), 2**63 - 1), st.booleans(), st.none()),
            },
        ),
    },
    optional={"available_instruments": st.just([{"type": "wallet_pay"}])},
)
# Invalid values for each field.
BROKEN: dict[str, tuple[Any, ...]] = {
    "id": ("", None, 5, [], "x" * 129),
    "version": ("", None, 20260408, "2026-4-8", "2026-04-08 ", "1999-01-01"),
    "config": (None, [], "x", 1),
    "available_instruments": ([], {}, "wallet_pay", [{"type": "card"}], [5]),
    "config.shop_id": ("", None, 5, "-a", "a b", "a\n", "ä", "x" * 65),
    "config.merchant_id": ("", None, {}, "/"),
    "config.merchant_name": ("", None, True, "x" * 101),
    "config.environment": ("", None, "Production", "live"),
    "config.supported_currencies": ([], None, "EUR", ["EUR", "EUR"], ["eur"], ["ZZZ"], [978]),
    "config.supported_countries": ([], None, {"FR": 1}, ["FR", "FR"], ["FRA"], ["QQ"], [None]),
}


@settings(max_examples=60)
@given(entry=VALID, place=st.sampled_from([(field, bad) for field, values in BROKEN.items() for bad in values]))
def test_every_valid_entry_is_taken_and_one_broken_field_is_named(entry: JsonObject, place: tuple[str, Any]) -> None:
    field, bad = place
    *outer, name = field.split(".")
    broken = deep_copy(entry)
    (broken[outer[0]] if outer else broken)[name] = bad

    assert entry_validation.find_entry_errors(entry) == {}
    assert {entry_error[: len(field)] for entry_error in entry_validation.find_entry_errors(broken)} == {field}


# --- tokens ---


def test_a_token_in_a_body_is_nowhere_afterwards(
    api: ApiClient, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "tok_5up3r_5ecret"
    credential = {"type": "wallet_token", "token": token}
    instrument = {"id": "pi", "handler_id": "wallet_pay", "type": "wallet_pay", "credential": credential}
    caplog.set_level(logging.DEBUG)

    def audience(shop: Shop, topic: str) -> frozenset[str]:
        return frozenset({"2026-10"})

    monkeypatch.setitem(audiences, audience, None)
    config = CONFIG | {"credential": credential, "list": [{"credential": credential}]}
    body = {
        "payment_handler": BODY
        | {"config": config, "payment": {"instruments": [instrument]}, "credential": credential}
        | {"available_instruments": [{"type": "wallet_pay", "constraints": {"credential": credential}}]}
    }
    answers = [api.post(LIST, body, idempotency_key="once"), api.post(LIST, body, idempotency_key="once")]
    handler = answers[0].json()["payment_handler"]
    answers.append(put_handler(api, handler, config=config | {"note": "changed"}))
    answers.append(put_handler(api, handler, config=config | {"api_key": token}))

    assert [response.status_code for response in answers] == [201, 201, 200, 422]
    kept = {"credential": {"type": "wallet_token"}}
    assert handler["config"] == CONFIG | kept | {"list": [kept]}
    text = str([response.content for response in answers])
    stored_text = str(snapshot_database())
    assert "942252" in text
    assert "942252" in stored_text
    for index in (text, stored_text, caplog.text):
        assert token not in index


# --- ids and enabled handlers ---


def test_a_handlers_id_is_one_shops_once(api: ApiClient, other_shop_api: ApiClient) -> None:
    post_valid_handler(api)
    post_valid_handler(other_shop_api, config={"shop_id": "stranger"})

    assert get_errors(post_handler(api, enabled=False)) == {"handler_id": ["has already been taken"]}


def test_an_environment_has_one_active_handler(api: ApiClient) -> None:
    post_valid_handler(api)
    sandbox = post_valid_handler(api, handler_id="test", config=CONFIG | {"environment": "sandbox"})
    second = post_valid_handler(api, handler_id="second", enabled=False)

    message = "cannot be enabled: another handler with this name is already enabled in this environment"
    on = {"enabled": [message]}
    assert get_errors(put_handler(api, second, enabled=True)) == on
    assert get_errors(put_handler(api, sandbox, config=CONFIG)) == on
    assert get_errors(post_handler(api, handler_id="third", config=CONFIG | {"environment": "production"})) == on


def test_the_wallet_knows_one_shop_by_an_id(api: ApiClient, other_shop_api: ApiClient, in_shop: Shop) -> None:
    errors = {"config.shop_id": ["has already been taken"]}
    handler = post_valid_handler(api)
    post_valid_handler(api, handler_id="test", config=CONFIG | {"environment": "sandbox"}, enabled=False)
    stranger = post_valid_handler(other_shop_api, config={"shop_id": "theirs"})

    sandbox = CONFIG | {"environment": "sandbox"}
    assert get_errors(post_handler(other_shop_api, handler_id="b", config=sandbox)) == errors
    assert get_errors(put_handler(other_shop_api, stranger, config=CONFIG)) == errors
    put_handler(api, handler, config={"shop_id": "moved"})
    # The sandbox handler still uses the id.
    assert get_errors(put_handler(other_shop_api, stranger, config=CONFIG)) == errors
    test = PaymentHandlerConfig.objects.get(handler_id="test")
    assert api.delete(f"payment_handlers/{test.pk}.json").status_code == 200
    assert put_handler(other_shop_api, stranger, config=CONFIG).status_code == 200
    with all_shops_scope():
        assert sorted(WalletShop.objects.values_list("known_as", flat=True)) == ["942252", "moved"]


def test_the_database_itself_refuses_a_configuration_that_is_no_object(in_shop: Shop) -> None:
    handler = make_handler()

    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        PaymentHandlerConfig.objects.filter(pk=handler.pk).update(config=["x"])
    breach = find_violated_constraint(refused.value)
    assert breach
    assert (breach.field, breach.message) == ("config", "is invalid")


def test_no_interface_bypasses_the_check(in_shop: Shop) -> None:
    handler = make_handler()

    with pytest.raises(entry_validation.EntryRefused):
        make_handler(handler_id="b", config={"shop_id": "1", "secret": "x"})
    with pytest.raises(entry_validation.EntryRefused):
        handlers.update_handler(handler, {"config": {}}, actor="system", at=handler.created_at)


# --- access ---


def test_another_shops_handler_does_not_exist(api: ApiClient, other_shop_api: ApiClient) -> None:
    handler = post_valid_handler(api)
    path = f"payment_handlers/{handler['id']}"

    answers = [
        other_shop_api.get(f"{path}.json"),
        other_shop_api.get(f"{path}/checkout_response.json"),
        put_handler(other_shop_api, handler, enabled=False),
        other_shop_api.delete(f"{path}.json"),
    ]

    assert [response.status_code for response in answers] == [404] * 4
    assert api.get(f"{path}.json").json()["payment_handler"] == handler
