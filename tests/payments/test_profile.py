import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ValidationError
from pytest_django import DjangoAssertNumQueries, Settings
from ucp_sdk.models.schemas import ucp

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.demo.data import payments
from apps.payments.domain import schema_validation, schemas
from apps.payments.models import PaymentHandlerConfig
from tests.support.api_client import ApiClient, Response
from tests.support.factories.payments import BODY, VERSION, make_handler
from tests.support.types import JsonObject

NAME = "dev.platform.wallet_pay"


def get_profile(host: str, **headers: str) -> Response:
    return Client(headers={"Host": host}).get("/.well-known/ucp", headers=headers)


def get_registry(response: Response) -> JsonObject:
    assert response.status_code == 200, response.content
    return response.json()["ucp"]["payment_handlers"]


def get_checkout_response(api: ApiClient, handler: PaymentHandlerConfig, **query: str) -> JsonObject:
    return get_registry(api.get(f"payment_handlers/{handler.pk}/checkout_response.json", **query))


def test_a_shop_publishes_the_handlers_that_are_on(in_shop: Shop) -> None:
    make_handler(available_instruments=[{"type": "wallet_pay"}])
    make_handler(handler_id="off", enabled=False)
    make_handler(handler_id="test", config={"shop_id": "942252", "environment": "sandbox"})

    response = get_profile("acme.example")

    assert (response["Content-Type"], response["Cache-Control"]) == ("application/json", "public, max-age=60")
    assert not response.has_header("Vary")
    assert not response.cookies
    schema = schemas.get_schema_url(VERSION)
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

    assert (unchanged.status_code, unchanged.content, unchanged["Cache-Control"]) == (304, b"", "public, max-age=60")
    assert (changed.status_code, get_registry(changed)[NAME][0]["config"]) == (200, {"shop_id": "942253"})


def test_each_host_gets_its_own_shops_profile_and_no_other(shop: Shop, other_shop: Shop) -> None:
    for owner, known_as in ((shop, "acme-1"), (other_shop, "stranger-1")):
        with shop_scope(owner):
            make_handler(config={"shop_id": known_as})

    hosts = ("acme.example", "ACME.Example", "acme.example:8443", "stranger.example")
    published = [get_registry(get_profile(host))[NAME][0]["config"]["shop_id"] for host in hosts]
    assert published == ["acme-1", "acme-1", "acme-1", "stranger-1"]
    # The installation's own hosts belong to no shop. Unknown hosts are refused before a shop is looked up.
    for host, status in (("testserver", 404), ("127.0.0.1", 404), ("nobody.example", 400), ("10.1.2.3", 400)):
        response = get_profile(host)
        assert response.status_code == status
        assert not any(name in response.content for name in (b"acme-1", b"stranger-1"))
    assert get_profile("testserver").json() == {"errors": "Not Found"}


def test_the_profile_is_not_led_elsewhere_and_only_read(in_shop: Shop) -> None:
    client = Client(headers={"Host": "acme.example"})

    assert (client.head("/.well-known/ucp").status_code, client.post("/.well-known/ucp").status_code) == (200, 405)
    assert client.get("/.well-known/ucp/").status_code == 404
    assert get_profile("acme.example").json()["ucp"]["payment_handlers"] == {}


def test_a_checkout_gets_the_published_entry_as_resolved_for_it(api: ApiClient, in_shop: Shop) -> None:
    kept = {"shop_id": "942252", "loyalty": {"points": True}}
    handler = make_handler(config={**kept, "currency": "what", "token_binding": 5})

    (entry,) = get_checkout_response(api, handler, currency="EUR", country="FR", checkout_id="c-1")[NAME]
    (bare,) = get_checkout_response(api, handler)[NAME]

    published = {**kept, "environment": "production"}
    assert entry["config"] == published | {"currency": "EUR", "token_binding": {"checkout_id": "c-1"}}
    assert bare["config"] == published
    assert [schema_validation.find_schema_errors(VERSION, schemas.RESPONSE, item) for item in (entry, bare)] == [{}, {}]


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
def test_unsuitable_handlers_are_left_out(api: ApiClient, in_shop: Shop, query: dict[str, str], fits: bool) -> None:
    config = {"shop_id": "1", "supported_currencies": ["EUR"], "supported_countries": ["FR", "DE"]}
    handler = make_handler(config=config)

    assert (NAME in get_checkout_response(api, handler, **query)) is fits


def test_a_handler_that_is_off_is_in_no_checkout(api: ApiClient, in_shop: Shop) -> None:
    assert get_checkout_response(api, make_handler(enabled=False)) == {}


def test_instruments_are_known_to_both_sides(api: ApiClient, in_shop: Shop) -> None:
    limited = [{"type": "wallet_pay", "constraints": {"maximum": 500}}]
    handler = make_handler(available_instruments=limited)

    (entry,) = get_checkout_response(api, handler, instruments="card,wallet_pay")[NAME]

    assert entry["available_instruments"] == limited


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


def test_the_demo_profile_is_valid(
    in_shop: Shop, api: ApiClient, request: pytest.FixtureRequest, settings: Settings
) -> None:
    payments.create_demo_handlers(in_shop, timezone.now())
    first = PaymentHandlerConfig.objects.get(handler_id="wallet_pay")
    published = get_registry(get_profile("acme.example"))[NAME]
    checkout = get_checkout_response(api, first, currency=in_shop.currency, country="FR", checkout_id="c-1")[NAME]
    served = {
        path: Client().get(f"/schemas/{path}").content for path in schemas.load_documents() if path.endswith(".json")
    }

    request.getfixturevalue("no_network")
    registry_of_served = schema_validation.build_registry(served)
    for definition, entries in ((schemas.BUSINESS, published), (schemas.RESPONSE, checkout)):
        validator = Draft202012Validator(
            {"$ref": f"{schemas.get_schema_url(VERSION)}#/$defs/{definition}"},
            registry=registry_of_served,
            format_checker=schema_validation.FORMATS,
        )
        assert len(entries) == 1
        assert list(validator.iter_errors(entries[0])) == []
        assert not validator.is_valid({**entries[0], "config": {}})
    assert published[0]["schema"] == f"{settings.SCHEMAS_URL}/wallet-pay/2026-04-08/schema.json"


def test_the_demo_shops_profile_is_valid_by_the_models_of_the_protocol(in_shop: Shop, api: ApiClient) -> None:
    payments.create_demo_handlers(in_shop, timezone.now())
    handler = PaymentHandlerConfig.objects.get(handler_id="wallet_pay")
    path = f"payment_handlers/{handler.pk}/checkout_response.json"
    examples: list[tuple[type[BaseModel], JsonObject]] = [
        (ucp.BusinessSchema, get_profile("acme.example").json()["ucp"]),
        (ucp.ResponseCheckoutSchema, api.get(path, currency=in_shop.currency, checkout_id="c-1").json()["ucp"]),
    ]

    for model, value in examples:
        assert len(value["payment_handlers"][NAME]) == 1
        model.model_validate(value)
        faults: tuple[JsonObject, ...] = ({"id": None}, {"version": "soon"}, {"available_instruments": []})
        for broken in faults:
            entry = value["payment_handlers"][NAME][0] | broken
            with pytest.raises(ValidationError):
                model.model_validate(value | {"payment_handlers": {NAME: [entry]}})


# Published documents never change. Each correction is a new version.
PINNED = {
    "wallet-pay/2026-04-08/schema.json": "dcbe7a16c2df17c2fd0452e1fb7977a1e71ace4cfa1707f356d93e19f3f41198",
    "checkout/2026-04-08/payment_handler.json": "93d2ed52b52413cbe90a29e966435427540aad6ad9860b7dbe4787035fdd5a41",
}


@pytest.mark.parametrize("path", PINNED)
def test_a_document_is_served_byte_for_byte_and_kept_by_caches(
    path: str, settings: Settings, db: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    settings.SCHEMAS_URL = schemas.PLACEHOLDER

    def get(**headers: str) -> Response:
        return Client().get(f"/schemas/{path}", headers=headers)

    with django_assert_num_queries(0):
        response = get()
        tag = response["ETag"]
        head = Client().head(f"/schemas/{path}")
        packed = get(**{"Accept-Encoding": "gzip, br"})
        matching = [get(**{"If-None-Match": value}) for value in (tag, f'"other", {tag}')]
        other = get(**{"If-None-Match": '"other"'})

    digests = [hashlib.sha256(reply.content).hexdigest() for reply in (response, packed, other)]
    assert (response.status_code, other.status_code, digests) == (200, 200, [PINNED[path]] * 3)
    assert (head.status_code, head.content, head["ETag"]) == (200, b"", tag)
    assert [(reply.status_code, reply.content) for reply in matching] == [(304, b"")] * 2
    for reply in (response, head, packed, matching[0]):
        assert (reply["Cache-Control"], reply["Access-Control-Allow-Origin"]) == ("public, max-age=86400", "*")
        assert reply["X-Content-Type-Options"] == "nosniff"
        assert not reply.has_header("Vary")
        assert not reply.cookies
    assert response["Content-Type"] == "application/schema+json"


def test_the_placeholder_gives_way_to_this_installations_address(settings: Settings, db: None) -> None:
    settings.SCHEMAS_URL = "https://admin.example/schemas"

    body = Client().get("/schemas/wallet-pay/2026-04-08/schema.json").content.decode()

    assert schemas.PLACEHOLDER not in body
    assert json.loads(body)["$id"] == "https://admin.example/schemas/wallet-pay/2026-04-08/schema.json"
    stored = schemas.load_documents()["wallet-pay/2026-04-08/schema.json"]
    assert body.replace("https://admin.example/schemas", schemas.PLACEHOLDER).encode() == stored


def test_addresses_in_what_is_published_lead_to_it(settings: Settings, db: None) -> None:
    response = Client().get("/schemas/wallet-pay/")
    ((version),) = response.json()["versions"]
    paths = {name: url.removeprefix(settings.BASE_URL) for name, url in version.items() if name != "version"}

    assert version["version"] == "2026-04-08"
    assert Client().get(paths["schema"]).json()["$id"] == version["schema"]
    spec = Client().get(paths["spec"])
    assert spec["Content-Type"] == "text/markdown; charset=utf-8"
    assert version["schema"] in spec.content.decode()


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options", "trace"])
def test_other_methods_are_refused(method: str, db: None) -> None:
    response = getattr(Client(), method)("/schemas/wallet-pay/2026-04-08/schema.json")

    assert (response.status_code, response["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    "path",
    [
        "wallet-pay/2026-04-09/schema.json",
        "wallet-pay/2026-04-08/other.json",
        "wallet-pay/2026-04-08/",
        "wallet-pay/../checkout/2026-04-08/payment_handler.json",
        "wallet-pay/2026-04-08/schema.json/",
        "../apps.py",
        "checkout/2026-04-08/../../../schemas.py",
        "WALLET-PAY/2026-04-08/schema.json",
    ],
)
def test_unpublished_documents_are_not_found(path: str, db: None) -> None:
    response = Client().get(f"/schemas/{path}")

    assert response.status_code == 404
    if path.startswith("wallet-pay"):
        assert response.json() == {"errors": "Not Found"}


LATER = "2026-08-25"
SANDBOX = {"shop_id": "942252", "environment": "sandbox"}
_KEPT = (schemas.get_schema_versions, schemas.load_documents, schemas.render_document, schema_validation.get_validator)


@pytest.fixture
def later_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for path, content in schemas.load_documents().items():
        for version in (VERSION, LATER):
            file = tmp_path / path.replace(VERSION, version)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.replace(VERSION.encode(), version.encode()))
    monkeypatch.setattr(schemas, "_FOLDER", tmp_path)
    for cached in _KEPT:
        cached.cache_clear()
    yield
    monkeypatch.undo()
    for cached in _KEPT:
        cached.cache_clear()


def test_a_later_version_is_served_with_the_earlier_and_shops_keep_theirs(
    in_shop: Shop, api: ApiClient, request: pytest.FixtureRequest
) -> None:
    old = make_handler()

    def load_all() -> set[tuple[str, bytes]]:
        return {(path, Client().get(f"/schemas/{path}").content) for path in schemas.load_documents()}

    before = load_all()

    request.getfixturevalue("later_version")

    assert schemas.get_schema_versions() == (LATER, VERSION)
    assert before <= load_all()
    served = Client().get(f"/schemas/{schemas.get_schema_path(LATER)}").json()
    assert (served["version"], LATER in served["$id"]) == (LATER, True)
    (saved_row,) = get_registry(get_profile("acme.example"))[NAME]
    assert (saved_row["version"], saved_row["schema"]) == (VERSION, schemas.get_schema_url(VERSION))

    body = BODY | {"handler_id": "later", "version": LATER, "config": SANDBOX}
    new = api.post("payment_handlers.json", {"payment_handler": body})
    moved = api.put(f"payment_handlers/{old.pk}.json", {"payment_handler": {"version": LATER}})

    assert (new.status_code, moved.status_code) == (201, 200), (new.content, moved.content)
    assert {entry["version"] for entry in get_registry(get_profile("acme.example"))[NAME]} == {LATER}
