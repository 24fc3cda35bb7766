import json
from functools import partial
from typing import Any, cast

import pytest
from django.db import OperationalError
from graphql import GraphQLEnumType, build_client_schema, get_introspection_query
from pytest_django import Settings
from time_machine import TimeMachineFixture

from apps.core.rest.versions import get_served_versions
from apps.core.tenancy.models import Shop
from apps.webhooks.domain import subscriptions
from apps.webhooks.models import Subscription
from tests.samples.graphql import CREATE
from tests.support.api_client import ApiClient, ClientWith
from tests.support.function_calls import count_calls
from tests.support.graphql_client import execute, get_data, get_error_codes
from tests.support.types import JsonObject

SHOP = "{ shop { id name myplatformDomain currencyCode } }"
COUNT = "{ webhookSubscriptionsCount { count precision } }"
VARIABLES: JsonObject = {"topic": "PRODUCTS_UPDATE", "webhookSubscription": {"uri": "https://app.example/"}}


def test_a_client_asks_first_where_it_is_and_as_whom(api: ApiClient, other_shop_api: ApiClient, shop: Shop) -> None:
    app = f"gid://platform/App/{api.installation.app_id}"
    installation_id = f"gid://platform/AppInstallation/{api.installation.pk}"
    result = get_data(
        api,
        """
        query ($app: ID!, $here: ID!) {
          shop { id name myplatformDomain plan { displayName } primaryDomain { url } createdAt timezoneOffset }
          app { id title installation { id } }
          again: node(id: $app) { id ... on App { apiKey } }
          currentAppInstallation { id app { title } accessScopes { handle description } }
          nodes(ids: [$here, "gid://platform/Shop/1"]) { __typename id }
          publicApiVersions { handle supported }
        }
        """,
        {"app": app, "here": installation_id},
    )
    stranger = get_data(
        other_shop_api,
        """
        query ($app: ID!, $here: ID!) {
          app(id: $app) { id } node(id: $here) { id } appInstallation(id: $here) { id }
        }
        """,
        {"app": app, "here": installation_id},
    )

    assert result["shop"]["id"] == f"gid://platform/Shop/{shop.pk}"
    assert result["shop"]["myplatformDomain"] == shop.domain
    assert result["shop"]["createdAt"].endswith("Z")
    assert result["app"] == {"id": app, "title": api.installation.app.name, "installation": {"id": installation_id}}
    assert result["again"] == {"id": app, "apiKey": api.installation.app.api_key}
    granted = [item["handle"] for item in result["currentAppInstallation"]["accessScopes"]]
    assert granted == api.installation.scopes
    assert result["nodes"] == [{"__typename": "AppInstallation", "id": installation_id}, None]
    assert [item["handle"] for item in result["publicApiVersions"]] == list(get_served_versions())
    assert stranger == {"app": None, "node": None, "appInstallation": None}


def test_the_document_may_be_the_whole_body(api: ApiClient, shop: Shop) -> None:
    response = api.post("graphql.json", SHOP.encode(), content_type="application/graphql")
    broken = api.post("graphql.json", b"\xff", content_type="application/graphql")

    assert response.json()["data"]["shop"]["name"] == shop.name
    assert (broken.status_code, broken.json()["errors"]) == (400, "Bad Request")


BAD_DOCUMENTS = {
    "{ shop {": "PARSE_ERROR",
    "shop": "PARSE_ERROR",
    "{ shop }": "selectionMismatch",
    "{ shop { password } }": "undefinedField",
    "{ shop(id: 1) { id } }": "argumentNotAccepted",
    "{ node { id } }": "missingRequiredArguments",
    '{ node(id: "17") { id } }': "argumentLiteralsIncompatible",
    "{ ...missing }": "useAndDefineFragment",
    "query ($a: Nonsense) { shop { id } }": "variableNotUsed",
    "query ($a: Int) { shop { id } }": "variableNotUsed",
    "{ shop { name(a: $b) } }": "variableNotDefined",
    "fragment a on Shop { id }": "missingOperation",
    "subscription { shop { id } }": "BAD_REQUEST",
    "{ shop { ...a } } fragment a on Shop { ...a }": "BAD_REQUEST",
    "{ webhookSubscriptions { nodes { id } } }": "BAD_REQUEST",
    "{ webhookSubscriptions(first: 251) { nodes { id } } }": "BAD_REQUEST",
    "{ webhookSubscriptions(first: -1) { nodes { id } } }": "BAD_REQUEST",
    "{ webhookSubscriptions(first: 1, last: 1) { nodes { id } } }": "BAD_REQUEST",
    '{ webhookSubscriptions(first: 1, after: "x") { nodes { id } } }': "BAD_REQUEST",
    '{ webhookSubscriptions(first: 1, query: "id:(") { nodes { id } } }': "BAD_REQUEST",
    '{ webhookSubscriptions(first: 1, query: "id:x") { nodes { id } } }': "BAD_REQUEST",
    "{ webhookSubscriptionsCount(limit: 10001) { count } }": "BAD_REQUEST",
}


def test_documents_that_cannot_be_answered_say_why(api: ApiClient) -> None:
    result = {query: get_error_codes(execute(api, query))[0] for query in BAD_DOCUMENTS}

    assert result == BAD_DOCUMENTS


def test_an_operation_that_is_not_there_is_an_error(api: ApiClient) -> None:
    document = "query one { shop { id } } query two { shop { name } }"

    missing = execute(api, document, operationName="three")
    second = get_data(api, document, operationName="two")

    assert missing["errors"][0]["message"] == 'Unknown operation named "three".'
    assert list(second["shop"]) == ["name"]


@pytest.mark.parametrize("body", [{}, {"query": ""}, {"query": 1}, {"query": SHOP, "variables": []}])
def test_invalid_requests_return_400(api: ApiClient, body: Any) -> None:
    response = api.post("graphql.json", body)

    assert response.status_code == 400
    assert list(response.json()) == ["errors"]


WRONG_INPUTS: JsonObject = {"uri": 5, "nonsense": 1, "callbackUrl": {"a": 1}}


def test_values_of_variables_are_checked_first(api: ApiClient) -> None:
    strange: list[JsonObject] = [
        {"topic": "PRODUCTS_UPDATE"},
        *({**VARIABLES, "topic": topic} for topic in ("PRODUCTS_UPD", None)),
        *({**VARIABLES, "webhookSubscription": {name: value}} for name, value in WRONG_INPUTS.items()),
    ]
    results = [execute(api, CREATE, variables) for variables in strange]

    assert [get_error_codes(response)[0] for response in results] == ["INVALID_VARIABLE"] * len(strange)
    assert not Subscription.objects.exists()


def test_every_version_describes_itself(api: ApiClient) -> None:
    for version in get_served_versions():
        described = get_data(api.at(version), get_introspection_query())
        schema = build_client_schema(described)  # type: ignore[arg-type]
        topics = cast(GraphQLEnumType, schema.type_map["WebhookSubscriptionTopic"]).values
        assert "PRODUCTS_UPDATE" in topics
        assert "SHOP_REDACT" not in topics


def _get_fields(api: ApiClient, kind: str) -> dict[str, bool]:
    query = """
    query ($kind: String!) { __type(name: $kind) {
      fields(includeDeprecated: true) { name isDeprecated }
      inputFields(includeDeprecated: true) { name isDeprecated }
    } }
    """
    type_info = get_data(api, query, {"kind": kind})["__type"]
    return {member["name"]: member["isDeprecated"] for member in type_info["fields"] or type_info["inputFields"]}


def test_versions_differ_as_clients_know(api: ApiClient) -> None:
    first, uri, newest = api.at("2024-10"), api.at("2025-10"), api.at("2026-04")

    oldest = _get_fields(first, "WebhookSubscriptionInput")
    later = _get_fields(uri, "WebhookSubscriptionInput")
    assert oldest == dict.fromkeys(("callbackUrl", "format", "filter", "includeFields", "metafieldNamespaces"), False)
    assert later == {**oldest, "callbackUrl": True, "uri": False, "metafields": False}
    assert _get_fields(newest, "WebhookSubscriptionInput").keys() - later.keys() == {"name"}
    assert "metafields" in _get_fields(api.at("2025-01"), "WebhookSubscriptionInput")
    assert not {"uri", "name", "metafields"} & _get_fields(first, "WebhookSubscription").keys()
    assert [_get_fields(client, "WebhookSubscription")["endpoint"] for client in (first, newest)] == [False, True]
    of_queues = "pubSubWebhookSubscriptionCreate"
    assert [_get_fields(client, "Mutation")[of_queues] for client in (first, uri)] == [False, True]
    refused = execute(first, '{ webhookSubscriptions(first: 1, uri: "x") { nodes { id } } }')
    assert get_error_codes(refused) == ["argumentNotAccepted"]


# --- limits ---


def get_cost(result: JsonObject) -> tuple[int, int | None, float]:
    cost = result["extensions"]["cost"]
    return cost["requestedQueryCost"], cost["actualQueryCost"], cost["throttleStatus"]["currentlyAvailable"]


def test_points_are_returned_for_missing_objects(api: ApiClient, rate_limited: TimeMachineFixture) -> None:
    fields = "edges { node { id endpoint { __typename } } } pageInfo { endCursor }"

    first = execute(api, SHOP)
    second = execute(api, f"{{ webhookSubscriptions(first: 50) {{ {fields} }} }}")
    third = execute(api, CREATE, VARIABLES)
    repeated = execute(api, "{ shop { id } shop { name } }")
    introspected = execute(api, "{ __schema { types { name } } }")
    rate_limited.move_to("2026-03-02T12:00:01Z", tick=False)
    later = execute(api, SHOP)

    assert first["extensions"]["cost"] == {
        "requestedQueryCost": 1,
        "actualQueryCost": 1,
        "throttleStatus": {"maximumAvailable": 2000.0, "currentlyAvailable": 1999, "restoreRate": 100.0},
    }
    assert [get_cost(result) for result in (second, third, repeated, introspected, later)] == [
        (102, 2, 1997),
        (12, 11, 1986),
        (1, 1, 1985),
        (11, 11, 1974),
        (1, 1, 1999),
    ]
    assert api.get("shop.json")["X-Platform-Shop-Api-Call-Limit"] == "1/40"


def test_clients_without_points_must_wait(api: ApiClient, rate_limited: TimeMachineFixture, settings: Settings) -> None:
    settings.RATE_LIMIT_BURST = 2

    poor = execute(api, "{ webhookSubscriptions(first: 250) { nodes { id } } }")
    result = execute(api, SHOP)
    wrong = [execute(api, "{") for _ in range(100)]

    assert (get_error_codes(poor), poor["errors"][0]["message"]) == (["THROTTLED"], "Throttled")
    assert get_cost(poor)[::2] == (252, 99)
    assert result["data"]["shop"]
    assert [get_error_codes(wrong[index]) for index in (0, -1)] == [["PARSE_ERROR"], ["THROTTLED"]]


def test_documents_that_ask_too_much_are_refused(api: ApiClient) -> None:
    dear = " ".join(f"a{n}: webhookSubscriptions(first: 250) {{ nodes {{ id }} }}" for n in range(4))
    deep = "app { installation { " * 9 + "id" + " } }" * 9
    twice = "on App {{ a: installation {{ app {{ ...f{0} }} }} b: installation {{ app {{ ...f{0} }} }} }}"
    bomb = " ".join(f"fragment f{n} {twice.format(n + 1)}" for n in range(40))
    spreads = " ".join(f"fragment f{n} on App {{ ...f{n + 1} ...f{n + 1} }}" for n in range(40))

    results = [
        execute(api, f"{{ {dear} }}"),
        execute(api, f"{{ {deep} }}"),
        execute(api, "{ app { ...f0 } } " + bomb + " fragment f40 on App { id }"),
        execute(api, "{ " + " ".join(f"a{n}: __typename" for n in range(6000)) + " }"),
    ]
    cheap = execute(api, "{ app { ...f0 } } " + spreads + " fragment f40 on App { id }")

    assert [get_error_codes(response)[0] for response in results] == [
        "MAX_COST_EXCEEDED",
        "MAX_DEPTH_EXCEEDED",
        "MAX_DEPTH_EXCEEDED",
        "PARSE_ERROR",
    ]
    assert get_cost(results[0])[:2] == (1008, None)
    assert "errors" not in cheap


REPEATED_FIELD = "{ " + "shop{id} " * 550 + "}"
INTROSPECTION = "__schema { types { name fields { name type { name } args { name } } } }"
MANY_INTROSPECTIONS = "{ " + " ".join(f"a{n}: {INTROSPECTION}" for n in range(60)) + " }"


def test_the_cost_of_validation_is_limited_and_charged(api: ApiClient, rate_limited: TimeMachineFixture) -> None:
    results = [
        execute(api, REPEATED_FIELD),
        execute(api, "{ " + " ".join(f"a{n}: shop {{ id }}" for n in range(251)) + " }"),
        execute(api, "{ " + " ".join(f"unknown{n}" for n in range(2001)) + " }"),
        execute(api, f'{{ node(id: "{"x" * 200_000}") {{ id }} }}'),
        execute(api, "{ " + " ".join(f"unknown{n}" for n in range(1999)) + " }"),
    ]

    assert [get_error_codes(result)[0] for result in results] == [*["MAX_COST_EXCEEDED"] * 4, "undefinedField"]
    # 2,202 tokens cost 22 points, in addition to the point that every document costs.
    assert [get_cost(result) for result in (results[0], results[4])] == [(22, None, 1977), (20, None, 1953)]


def test_repeated_fields_are_not_all_compared(api: ApiClient) -> None:
    few, many = (
        count_calls(partial(execute, api, "{ " + "shop{id} " * times + "}" + " " * 4_000)) for times in (275, 550)
    )

    assert many < 3 * few
    assert many < 500_000


def test_each_id_of_nodes_costs_a_point(api: ApiClient, rate_limited: TimeMachineFixture) -> None:
    query = "query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on App { installation { id } } } }"
    found, missing = (f"gid://platform/App/{app}" for app in (api.installation.app_id, 1))

    assert get_cost(execute(api, query, {"ids": [found] * 3 + [missing] * 47}))[:2] == (100, 6)


def test_introspection_costs_points(api: ApiClient, rate_limited: TimeMachineFixture) -> None:
    full = execute(api, get_introspection_query())
    once = execute(api, f"{{ {INTROSPECTION} }}")
    fragment = execute(api, f"{{ ...f }} fragment f on QueryRoot {{ {INTROSPECTION} }}")
    many = execute(api, MANY_INTROSPECTIONS)
    lists = execute(
        api, "{ __schema { types { " + " ".join(f"a{n}: enumValues {{ name }}" for n in range(60)) + " } } }"
    )
    deep = execute(api, "{ __schema { types { " + "ofType { " * 13 + "name" + " }" * 16)

    assert "errors" not in full
    assert [get_cost(result)[:2] for result in (once, fragment)] == [(75, 75)] * 2
    assert get_cost(full)[0] < 500
    assert [get_error_codes(result)[0] for result in (many, lists)] == ["MAX_COST_EXCEEDED"] * 2
    assert get_error_codes(deep) == ["MAX_DEPTH_EXCEEDED"]


def test_a_document_is_parsed_and_validated_once(api: ApiClient) -> None:
    query = get_introspection_query() + "# Only this test executes this document."

    first, second = (count_calls(lambda: execute(api, query)) for _ in range(2))
    invalid = [execute(api, "{ shop { missing } }") for _ in range(2)]
    other_version = execute(api.at("2024-10"), '{ webhookSubscriptions(first: 1, uri: "x") { nodes { id } } }')
    newest = execute(api, '{ webhookSubscriptions(first: 1, uri: "x") { nodes { id } } }')

    assert second < first - 20_000
    assert [get_error_codes(result) for result in invalid] == [["undefinedField"]] * 2
    assert get_error_codes(other_version) == ["argumentNotAccepted"]
    assert "errors" not in newest


# --- errors ---


def test_a_defect_is_an_error_without_details(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(subscriptions, "get_api_subscriptions", fail)
    response = execute(api, "{ shop { id } webhookSubscriptionsCount { count } }")

    assert get_error_codes(response) == ["INTERNAL_SERVER_ERROR"]
    assert response["data"]["shop"]
    assert "secret" not in json.dumps(response)


def test_an_unavailable_database_is_503_and_rolls_back(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> None:
        raise OperationalError("away")

    monkeypatch.setattr(subscriptions, "delete_subscription", away)
    row = get_data(api, CREATE, VARIABLES)["webhookSubscriptionCreate"]["webhookSubscription"]["id"]
    both = f"""mutation {{
      webhookSubscriptionCreate(topic: SHOP_UPDATE, webhookSubscription: {{uri: "https://app.example/2"}}) {{
        webhookSubscription {{ id }}
      }}
      webhookSubscriptionDelete(id: "{row}") {{ deletedWebhookSubscriptionId }}
    }}"""
    response = api.post("graphql.json", {"query": both})

    assert (response.status_code, response.json()) == (503, {"errors": "Service Unavailable"})
    assert get_data(api, COUNT) == {"webhookSubscriptionsCount": {"count": 1, "precision": "EXACT"}}


def test_the_same_request_sent_again_has_no_second_effect(api: ApiClient) -> None:
    body = {"query": CREATE, "variables": VARIABLES}

    first, second = (api.post("graphql.json", body, idempotency_key="k1") for _ in range(2))

    assert first.json() == second.json()
    assert get_data(api, COUNT)["webhookSubscriptionsCount"]["count"] == 1


def test_a_token_without_scopes_reads_the_shop(client_with: ClientWith) -> None:
    assert get_data(client_with(), SHOP)["shop"]["name"]
