"""Tests for the checkout profile on a shop's domain, and for checkout responses."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ValidationError
from ucp_sdk.models.schemas import ucp

from apps.ground.tenancy import shop_scope
from apps.payments import demo
from apps.payments.domain import schema_publishing, schema_validation
from apps.payments.models import PaymentHandlerConfig
from apps.shops.models import Shop
from tests.conftest import ApiClient, Response
from tests.payments.factories import VERSION, make_handler

NAME = "dev.platform.wallet_pay"


def get_profile(host: str, **headers: str) -> Response:
    return Client(headers={"Host": host}).get("/.well-known/ucp", headers=headers)


def get_registry(response: Response) -> dict[str, Any]:
    assert response.status_code == 200, response.content
    return response.json()["ucp"]["payment_handlers"]


def get_checkout_response(api: ApiClient, handler: PaymentHandlerConfig, **query: str) -> dict[str, Any]:
    return get_registry(api.get(f"payment_handlers/{handler.pk}/checkout_response.json", **query))


def test_a_shop_publishes_the_handlers_that_are_on(in_shop: Shop) -> None:
    make_handler(available_instruments=[{"type": "wallet_pay"}])
    make_handler(handler_id="off", enabled=False)
    make_handler(handler_id="test", config={"shop_id": "942252", "environment": "sandbox"})

    response = get_profile("acme.example")

    assert response["Content-Type"] == "application/json"
    assert response["Cache-Control"] == "public, max-age=60"
    assert not response.has_header("Vary")
    assert not response.cookies
    schema = schema_publishing.get_schema_url(VERSION)
    common = {"version": VERSION, "spec": schema.replace("schema.json", "spec.md"), "schema": schema}
    assert response.json() == {
        "ucp": {
            "version": "2026-04-08",
            "services": {},
            "payment_handlers": {
                NAME: [
                    {"id": "wallet_pay", **common, "available_instruments": [{"type": "wallet_pay"}],
                     "config": {"shop_id": "942252"}},
                    {"id": "test", **common, "config": {"shop_id": "942252", "environment": "sandbox"}},
                ]
            },
        }
    }  # fmt: skip


def test_a_profile_changes_its_tag_with_what_it_says(in_shop: Shop, api: ApiClient) -> None:
    handler = make_handler()
    before = get_profile("acme.example")

    unchanged = get_profile("acme.example", **{"If-None-Match": before["ETag"]})
    api.put(f"payment_handlers/{handler.pk}.json", {"payment_handler": {"config": {"shop_id": "942253"}}})
    changed = get_profile("acme.example", **{"If-None-Match": before["ETag"]})

    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert unchanged["Cache-Control"] == "public, max-age=60"
    assert changed.status_code == 200
    assert get_registry(changed)[NAME][0]["config"] == {"shop_id": "942253"}


def test_each_host_gets_its_own_shops_profile_and_no_other(shop: Shop, other_shop: Shop) -> None:
    for owner, known_as in ((shop, "acme-1"), (other_shop, "stranger-1")):
        with shop_scope(owner):
            make_handler(config={"shop_id": known_as})

    for host, known_as in (
        ("acme.example", "acme-1"),
        ("ACME.Example", "acme-1"),
        ("acme.example:8443", "acme-1"),
        ("stranger.example", "stranger-1"),
    ):
        assert get_registry(get_profile(host))[NAME][0]["config"]["shop_id"] == known_as
    # The installation's own hosts belong to no shop. Unknown hosts are refused before a shop is looked up.
    for host, status in (("testserver", 404), ("127.0.0.1", 404), ("nobody.example", 400), ("10.1.2.3", 400)):
        response = get_profile(host)
        assert response.status_code == status
        assert b"acme-1" not in response.content
        assert b"stranger-1" not in response.content
    assert get_profile("testserver").json() == {"errors": "Not Found"}


def test_the_profile_is_not_led_elsewhere_and_only_read(in_shop: Shop) -> None:
    client = Client(headers={"Host": "acme.example"})

    assert client.head("/.well-known/ucp").status_code == 200
    assert client.post("/.well-known/ucp").status_code == 405
    assert client.get("/.well-known/ucp/").status_code == 404
    assert get_profile("acme.example").json()["ucp"]["payment_handlers"] == {}


def test_a_checkout_gets_the_published_entry_as_resolved_for_it(api: ApiClient, in_shop: Shop) -> None:
    saved_row = {"shop_id": "942252", "loyalty": {"points": True}, "currency": "what", "token_binding": 5}
    handler = make_handler(config=saved_row)

    (entry,) = get_checkout_response(api, handler, currency="EUR", country="FR", checkout_id="c-1")[NAME]
    (bare,) = get_checkout_response(api, handler)[NAME]

    published = {"shop_id": "942252", "loyalty": {"points": True}, "environment": "production"}
    assert entry["config"] == published | {"currency": "EUR", "token_binding": {"checkout_id": "c-1"}}
    assert bare["config"] == published
    assert [
        schema_validation.find_schema_errors(VERSION, schema_validation.RESPONSE, item) for item in (entry, bare)
    ] == [{}, {}]


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        ({}, True),
        ({"currency": "EUR", "country": "FR"}, True),
        ({"currency": "JPY", "country": "FR"}, False),
        ({"currency": "EUR", "country": "SE"}, False),
        ({"instruments": "wallet_pay"}, True),
        ({"instruments": "card,wallet_pay"}, True),
        ({"instruments": "card"}, False),
        ({"instruments": ""}, False),
    ],
)
def test_a_handler_that_does_not_fit_the_checkout_is_left_out(
    api: ApiClient, in_shop: Shop, query: dict[str, str], fits: bool
) -> None:
    config = {"shop_id": "1", "supported_currencies": ["EUR"], "supported_countries": ["FR", "DE"]}
    handler = make_handler(config=config)

    assert (NAME in get_checkout_response(api, handler, **query)) is fits


def test_a_handler_that_is_off_is_in_no_checkout(api: ApiClient, in_shop: Shop) -> None:
    handler = make_handler(enabled=False)

    assert get_checkout_response(api, handler) == {}


def test_instruments_are_known_to_both_sides(api: ApiClient, in_shop: Shop) -> None:
    limited = [{"type": "wallet_pay", "constraints": {"maximum": 500}}]
    handler = make_handler(available_instruments=limited)

    (request,) = get_checkout_response(api, handler, instruments="card,wallet_pay")[NAME]

    assert request["available_instruments"] == limited


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"currency": "eur"}, "is not included in the list"),
        ({"currency": "XXX"}, "is not included in the list"),
        ({"country": "ZZ"}, "is not included in the list"),
        ({"checkout_id": ""}, "is invalid"),
        ({"checkout_id": "x" * 256}, "is invalid"),
        ({"checkout_id": "a\nb"}, "is invalid"),
    ],
)
def test_a_parameter_that_is_none_is_400(api: ApiClient, in_shop: Shop, query: dict[str, str], message: str) -> None:
    response = api.get(f"payment_handlers/{make_handler().pk}/checkout_response.json", **query)

    assert (response.status_code, response.json()) == (400, {"errors": dict.fromkeys(query, message)})


def test_what_the_demo_store_publishes_is_valid_without_a_network(
    shop: Shop, api: ApiClient, request: pytest.FixtureRequest, settings: Any
) -> None:
    with shop_scope(shop):
        demo.create_demo_handlers(shop, timezone.now())
        first = PaymentHandlerConfig.objects.get(handler_id="wallet_pay")
    published = get_registry(get_profile("acme.example"))[NAME]
    checkout = get_checkout_response(api, first, currency=shop.currency, country="FR", checkout_id="c-1")[NAME]
    served = {
        path: Client().get(f"/schemas/{path}").content
        for path in schema_publishing.load_documents()
        if path.endswith(".json")
    }

    request.getfixturevalue("no_network")
    registry_of_served = schema_validation.build_registry(served)
    for definition, entries in ((schema_validation.BUSINESS, published), (schema_validation.RESPONSE, checkout)):
        validator = Draft202012Validator(
            {"$ref": f"{schema_publishing.get_schema_url(VERSION)}#/$defs/{definition}"},
            registry=registry_of_served,
            format_checker=schema_validation.FORMATS,
        )
        assert len(entries) == 1
        assert list(validator.iter_errors(entries[0])) == []
        assert not validator.is_valid({**entries[0], "config": {}})
    assert published[0]["schema"] == f"{settings.SCHEMAS_URL}/wallet-pay/2026-04-08/schema.json"


def test_what_the_demo_store_publishes_is_valid_by_the_models_of_the_protocol(shop: Shop, api: ApiClient) -> None:
    with shop_scope(shop):
        demo.create_demo_handlers(shop, timezone.now())
        handler = PaymentHandlerConfig.objects.get(handler_id="wallet_pay")
    path = f"payment_handlers/{handler.pk}/checkout_response.json"
    examples: list[tuple[type[BaseModel], dict[str, Any]]] = [
        (ucp.BusinessSchema, get_profile("acme.example").json()["ucp"]),
        (ucp.ResponseCheckoutSchema, api.get(path, currency=shop.currency, checkout_id="c-1").json()["ucp"]),
    ]

    for model, value in examples:
        assert len(value["payment_handlers"][NAME]) == 1
        model.model_validate(value)
        faults: tuple[dict[str, Any], ...] = ({"id": None}, {"version": "soon"}, {"available_instruments": []})
        for broken in faults:
            entry = value["payment_handlers"][NAME][0] | broken
            with pytest.raises(ValidationError):
                model.model_validate(value | {"payment_handlers": {NAME: [entry]}})
