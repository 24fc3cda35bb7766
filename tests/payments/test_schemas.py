import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing.exceptions import Unresolvable

from apps.payments.domain import entry_validation, schema_validation, schemas
from tests.support.factories.payments import VERSION
from tests.support.subtests import Subtests
from tests.support.types import JsonObject

HANDLER = "dev.platform.wallet_pay"
BASE = f"{schemas.PLACEHOLDER}/checkout/{VERSION}/payment_handler.json"
TOKEN = {"type": "wallet_token", "token": "opaque"}
INSTRUMENT = {"id": "pi_1", "handler_id": "wallet_pay", "type": "wallet_pay", "credential": TOKEN}
ENTRY = {"id": "wallet_pay", "version": VERSION, "config": {"shop_id": "942252"}}
RUNNING = {"shop_id": "942252", "environment": "production"}
RESPONSE = ENTRY | {"config": RUNNING}


def load_schemas() -> dict[str, JsonObject]:
    return {path: json.loads(text) for path, text in schemas.load_documents().items() if path.endswith(".json")}


def iterate_objects(value: Any) -> Iterator[JsonObject]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from iterate_objects(inner)


def get_schema_errors(definition: str, value: object) -> dict[str, list[str]]:
    return schema_validation.find_schema_errors(VERSION, definition, value)


def test_the_documents_are_schemas_and_every_reference_leads_to_one_of_them(no_network: None) -> None:
    registry = schema_validation.build_registry(schemas.load_documents())

    with Subtests() as checks:
        for path, document in load_schemas().items():
            Draft202012Validator.check_schema(document)
            assert document["$id"] == f"{schemas.PLACEHOLDER}/{path}"
            resolver = registry.resolver(document["$id"])
            for reference in [part["$ref"] for part in iterate_objects(document) if "$ref" in part]:
                with checks(path, reference):
                    assert isinstance(resolver.lookup(reference).contents, dict)


def test_a_reference_to_elsewhere_is_not_fetched(no_network: None) -> None:
    elsewhere = {"$id": f"{schemas.PLACEHOLDER}/x.json", "$ref": "https://schemas.example/other.json"}
    registry = schema_validation.build_registry({"x.json": json.dumps(elsewhere).encode()})

    with pytest.raises(Unresolvable):
        registry.resolver(elsewhere["$id"]).lookup(elsewhere["$ref"])


def test_the_definitions_of_the_specification_are_there_by_name() -> None:
    handler = load_schemas()[schemas.get_schema_path(VERSION)]

    assert (handler["name"], handler["version"]) == (HANDLER, VERSION)
    assert {"wallet_token", "wallet_pay", HANDLER} <= handler["$defs"].keys()
    assert handler["$defs"][HANDLER].keys() == {"payment_instrument", "business_schema", "response_schema"}


def test_every_format_that_a_document_names_is_checked() -> None:
    formats = {
        part["format"] for document in load_schemas().values() for part in iterate_objects(document) if "format" in part
    }

    assert formats == {"date-time", "email", "uri"} == set(schema_validation.FORMATS.checkers)


def test_patterns_stop_before_a_line_break_and_know_plain_digits_only() -> None:
    patterns = {part["pattern"] for d in load_schemas().values() for part in iterate_objects(d) if "pattern" in part}

    assert patterns
    for pattern in patterns:
        assert pattern.startswith("^")
        assert pattern.endswith("$(?!\\n)")
        assert "\\d" not in pattern


BLANK = ["can't be blank"]
INVALID = ["is invalid"]


def configure(**config: object) -> JsonObject:
    return ENTRY | {"config": {"shop_id": "942252", **config}}


BUSINESS: list[tuple[Any, dict[str, list[str]]]] = [
    (ENTRY, {}),
    (configure(unknown={"deep": [1, None, 1.5]}) | {"other": True}, {}),
    (ENTRY | {"spec": "https://a.example/s", "available_instruments": [{"type": "wallet_pay"}]}, {}),
    ({}, {"id": BLANK, "version": BLANK, "config": BLANK}),
    ({"id": "", "version": "x", "config": {}}, {"id": BLANK, "version": INVALID, "config.shop_id": BLANK}),
    (ENTRY | {"config": "s"}, {"config": INVALID}),
    (
        configure(shop_id="a b", environment="x", supported_currencies=["eur"]),
        {
            "config.shop_id": INVALID,
            "config.environment": ["is not included in the list"],
            "config.supported_currencies.0": INVALID,
        },
    ),
    ("s", {"base": INVALID}),
    (ENTRY | {"id": "x" * 129}, {"id": ["is too long (maximum is 128 characters)"]}),
    (ENTRY | {"id": 5}, {"id": INVALID}),
    (ENTRY | {"config": None}, {"config": BLANK}),
    (configure(shop_id="a\n"), {"config.shop_id": INVALID}),
    (configure(shop_id=".a"), {"config.shop_id": INVALID}),
    (configure(shop_id="x" * 65), {"config.shop_id": ["is too long (maximum is 64 characters)"]}),
    (configure(merchant_id="é"), {"config.merchant_id": INVALID}),
    (configure(merchant_name=""), {"config.merchant_name": BLANK}),
    (configure(merchant_name="x" * 101), {"config.merchant_name": ["is too long (maximum is 100 characters)"]}),
    (configure(supported_countries=[]), {"config.supported_countries": BLANK}),
    (configure(supported_countries=["FR", "FR"]), {"config.supported_countries": INVALID}),
    (
        configure(supported_countries=["FR", "FRA", "F\n"]),
        {"config.supported_countries.1": INVALID, "config.supported_countries.2": INVALID},
    ),
    (ENTRY | {"version": "２０２６-04-08"}, {"version": INVALID}),
    (ENTRY | {"version": "2026-04-08\n"}, {"version": INVALID}),
    (ENTRY | {"spec": "no address"}, {"spec": INVALID}),
    (ENTRY | {"spec": "https://a.example/é"}, {"spec": INVALID}),
    (ENTRY | {"schema": "http://[::1"}, {"schema": INVALID}),
    (ENTRY | {"available_instruments": []}, {"available_instruments": BLANK}),
    (ENTRY | {"available_instruments": [{}]}, {"available_instruments.0.type": BLANK}),
    (
        ENTRY | {"available_instruments": [{"type": "card"}]},
        {"available_instruments.0.type": ["is not included in the list"]},
    ),
    (
        ENTRY | {"available_instruments": [{"type": "wallet_pay", "constraints": {}}]},
        {"available_instruments.0.constraints": BLANK},
    ),
]


def test_entries_of_a_shop_are_what_the_specification_says(no_network: None) -> None:
    with Subtests() as checks:
        for entry, expected in BUSINESS:
            with checks(entry):
                assert get_schema_errors(schemas.BUSINESS, entry) == expected


def test_entries_of_a_checkout_name_their_environment() -> None:
    without = get_schema_errors(schemas.RESPONSE, ENTRY)
    bound = RUNNING | {"currency": "EUR", "token_binding": {"checkout_id": "c-1"}}
    wrong = RUNNING | {"currency": "eur", "token_binding": {}}

    assert without == {"config.environment": ["can't be blank"]}
    assert get_schema_errors(schemas.RESPONSE, RESPONSE) == {}
    assert get_schema_errors(schemas.RESPONSE, RESPONSE | {"config": bound}) == {}
    errors = {"config.currency": INVALID, "config.token_binding.checkout_id": BLANK}
    assert get_schema_errors(schemas.RESPONSE, RESPONSE | {"config": wrong}) == errors


INSTRUMENTS: list[tuple[Any, dict[str, list[str]]]] = [
    (INSTRUMENT, {}),
    (INSTRUMENT | {"display": {"email": "a@example.com", "description": "Visa"}, "selected": True, "more": 1}, {}),
    (INSTRUMENT | {"credential": TOKEN | {"expiry": "2026-04-08T10:00:00Z"}}, {}),
    (INSTRUMENT | {"credential": TOKEN | {"expiry": "2026-04-08t10:00:00.5+02:00"}}, {}),
    ({}, {"id": BLANK, "handler_id": BLANK, "type": BLANK}),
    (INSTRUMENT | {"type": "card"}, {"type": ["is not included in the list"]}),
    (INSTRUMENT | {"display": {"email": "a"}}, {"display.email": ["is invalid"]}),
    (INSTRUMENT | {"display": {"email": f"{'a' * 60}@{'b' * 60}.{'c' * 60}.{'d' * 60}.{'e' * 60}.example"}},
     {"display.email": ["is too long (maximum is 254 characters)"]}),
    (INSTRUMENT | {"credential": {"type": "wallet_token"}}, {"credential.token": ["can't be blank"]}),
    (INSTRUMENT | {"credential": TOKEN | {"type": "card"}}, {"credential.type": ["is not included in the list"]}),
    (INSTRUMENT | {"credential": TOKEN | {"token": ""}}, {"credential.token": ["can't be blank"]}),
    (
        INSTRUMENT | {"credential": TOKEN | {"token": "x" * 4097}},
        {"credential.token": ["is too long (maximum is 4096 characters)"]},
    ),
]  # fmt: skip


def test_instruments_and_tokens_are_what_the_specification_says() -> None:
    with Subtests() as checks:
        for instrument, expected in INSTRUMENTS:
            with checks(instrument):
                errors = get_schema_errors(schemas.INSTRUMENT, instrument)
                assert errors.keys() == expected.keys()
                assert all(set(messages) <= set(errors[field]) for field, messages in expected.items())


NO_DATES = (
    "tomorrow", "2026-04-08", "2026-02-30T10:00:00Z", "2026-04-08T10:00:00", "2026-04-08T25:00:00Z",
    "２０２６-04-08T10:00:00Z",
)  # fmt: skip


@pytest.mark.parametrize("expiry", NO_DATES)
def test_a_bad_date_is_refused(expiry: str) -> None:
    assert get_schema_errors("wallet_token", TOKEN | {"expiry": expiry}) == {"expiry": INVALID}


def test_a_finding_never_repeats_the_value() -> None:
    instrument = INSTRUMENT | {"credential": {"type": "wallet_token", "token": ["tok_live_5ecret"]}}

    assert "tok_live" not in str(get_schema_errors(schemas.INSTRUMENT, instrument))


def test_documents_of_a_version_name_it() -> None:
    assert schemas.get_schema_versions() == (VERSION,)
    find_errors = entry_validation.find_entry_errors
    assert find_errors(ENTRY | {"version": "2026-08-25"}) == {"version": ["is not included in the list"]}
    assert find_errors(ENTRY | {"schema": schemas.get_schema_url(VERSION)}) == {}
    assert find_errors(ENTRY | {"schema": "https://a.example/schema.json"}) == {"schema": INVALID}
