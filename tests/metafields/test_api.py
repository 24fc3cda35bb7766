import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.metafields.models import Metafield
from tests.support.api_client import ApiClient, get_errors
from tests.support.factories.catalog import make_product
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

TEXT = "single_line_text_field"
BODY = {"namespace": "care", "key": "wash", "value": "Cold", "type": TEXT}


def post_metafield(api: ApiClient, path: str = "metafields.json", **fields: object) -> JsonObject:
    response = api.post(path, {"metafield": BODY | fields})
    assert response.status_code == 201, response.content
    return response.json()["metafield"]


def test_every_route_of_the_shop_answers_as_its_clients_know_it(api: ApiClient) -> None:
    response = api.post("metafields.json", {"metafield": BODY | {"type": "number_integer", "value": 5}})
    path = f"metafields/{response.json()['metafield']['id']}.json"

    answers = {
        "POST /metafields.json": response,
        "GET /metafields.json": api.get("metafields.json"),
        "GET /metafields/count.json": api.get("metafields/count.json"),
        "GET /metafields/{id}.json": api.get(path),
        "PUT /metafields/{id}.json": api.put(path, {"metafield": {"value": "x", "type": "string"}}),
    }
    deleted = api.delete(path)

    for route, server_response in answers.items():
        assert server_response.status_code == (201 if route.startswith("POST") else 200)
        assert_fits("metafield", route, server_response.json())
    assert (deleted.status_code, deleted.json()) == (200, {})
    assert api.get(path).status_code == 404


def test_a_metafield_of_the_shop_is_shown_whole(api: ApiClient, shop: Shop) -> None:
    metafield = post_metafield(api, description="How to wash it")

    gid = f"gid://platform/Metafield/{metafield['id']}"
    times = {"created_at": "", "updated_at": ""}
    ids = {"id": metafield["id"], "admin_graphql_api_id": gid, "owner_id": shop.pk, "owner_resource": "shop"}
    assert metafield | times == BODY | {"description": "How to wash it"} | ids | times


def test_a_create_with_nothing_names_all_that_is_missing(api: ApiClient) -> None:
    response = api.post("metafields.json", {"metafield": {}})

    assert get_errors(response) == {key: ["can't be blank"] for key in ("namespace", "key", "type", "value")}


OWNER = "owner_resource"


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"namespace": "n" * 21}, "namespace", "is too long (maximum is 20 characters)"),
        ({"key": "k" * 31}, "key", "is too long (maximum is 30 characters)"),
        ({"key": {"a": 1}}, "key", "is invalid"),
        ({"type": "text"}, "type", "is not included in the list"),
        ({"type": 7}, "type", "is not included in the list"),
        ({"value": "a\nb"}, "value", "must be a single line of text"),
        ({"value": ""}, "value", "can't be blank"),
        ({"value": None}, "value", "can't be blank"),
        ({"description": "d" * 256}, "description", "is too long (maximum is 255 characters)"),
        ({"owner_id": 1, OWNER: "spaceship"}, OWNER, "is not included in the list"),
        ({"owner_id": 1}, OWNER, "can't be blank"),
        ({OWNER: "product"}, "owner_id", "can't be blank"),
        ({"owner_id": "x", OWNER: "product"}, "owner_id", "is invalid"),
    ],
)
def test_invalid_values_are_refused(
    api: ApiClient, in_shop: Shop, fields: JsonObject, field: str, message: str
) -> None:
    response = api.post("metafields.json", {"metafield": BODY | fields})

    assert get_errors(response) == {field: [message]}
    assert not Metafield.objects.exists()
    assert not Event.objects.filter(topic__startswith="shop_metafields").exists()


def test_the_shop_itself_can_be_the_owner_in_the_body(api: ApiClient, shop: Shop, other_shop: Shop) -> None:
    metafield = post_metafield(api, owner_id=shop.pk, owner_resource="shop")
    foreign = api.post("metafields.json", {"metafield": BODY | {"owner_id": other_shop.pk, "owner_resource": "shop"}})

    assert foreign.status_code == 404
    assert api.get("metafields.json").json() == {"metafields": [metafield]}


def test_a_name_is_given_once_per_owner(api: ApiClient) -> None:
    post_metafield(api)

    second_response = api.post("metafields.json", {"metafield": BODY | {"value": "Hot"}})

    assert get_errors(second_response) == {"key": ["has already been taken"]}
    assert post_metafield(api, namespace="other")["key"] == "wash"


def test_an_update_checks_the_value_against_the_type_that_it_has_then(api: ApiClient) -> None:
    metafield = post_metafield(api, value="12")
    path = f"metafields/{metafield['id']}.json"

    refused = api.put(path, {"metafield": {"value": "x", "type": "number_integer"}})
    retyped = api.put(path, {"metafield": {"type": "number_integer"}})
    unfit = api.put(path, {"metafield": {"value": "x"}})
    described = api.put(path, {"metafield": {"description": "Degrees", "key": "other", "owner_id": 1}})

    assert refused.json() == {"errors": {"value": ["must be a whole number"]}}
    assert (retyped.status_code, retyped.json()["metafield"]["value"]) == (200, 12)
    assert unfit.status_code == 422
    changes = {"value": 12, "type": "number_integer", "description": "Degrees"}
    assert described.json()["metafield"] | {"updated_at": ""} == metafield | changes | {"updated_at": ""}


def test_a_list_takes_its_filters(api: ApiClient, shop: Shop) -> None:
    ids = [
        post_metafield(api, key=key, namespace=namespace, type=kind, value="1")["id"]
        for namespace, key, kind in (("a", "x", "number_integer"), ("a", "y", TEXT), ("b", "x", TEXT))
    ]

    def list_keys(**query: str) -> list[int]:
        rows = api.get("metafields.json", **query).json()["metafields"]
        assert api.get("metafields/count.json", **query).json() == {"count": len(rows)}
        return [row["id"] for row in rows]

    assert list_keys() == ids
    assert list_keys(namespace="a") == ids[:2]
    assert list_keys(key="x") == [ids[0], ids[2]]
    assert list_keys(type=TEXT) == ids[1:]
    assert list_keys(since_id=str(ids[0])) == ids[1:]
    assert list_keys(created_at_min="2099-01-01") == []
    owner = {"metafield[owner_id]": str(shop.pk), "metafield[owner_resource]": "shop"}
    assert list_keys(**owner, namespace="b") == ids[2:]


def test_an_owner_in_the_query_must_be_whole_and_there(api: ApiClient, shop: Shop, other_shop: Shop) -> None:
    post_metafield(api)
    owners = [
        ("shop", shop.pk, 200),
        ("shop", other_shop.pk, 404),
        *(
            ("shop", None, 400),
            (None, shop.pk, 400),
            ("page", 1, 404),
            ("theme", 1, 400),
            ("shop", "x", 400),
            ("", 1, 400),
        ),
    ]

    for resource, pk, status in owners:
        query = {"metafield[owner_resource]": resource, "metafield[owner_id]": pk}
        response = api.get("metafields.json", **{name: value for name, value in query.items() if value is not None})
        assert response.status_code == status, query


@pytest.mark.parametrize(
    "path", ["pages/1/metafields.json", "draft_orders/1/metafields.json", "shops/1/metafields.json"]
)
def test_owners_that_the_product_has_not_have_no_routes(api: ApiClient, path: str) -> None:
    assert api.get(path).status_code == 404


def test_every_change_writes_one_event(api: ApiClient, in_shop: Shop) -> None:
    metafield = post_metafield(api)
    path = f"metafields/{metafield['id']}.json"
    api.put(path, {"metafield": {"value": "Hot"}})
    api.put(path, {"metafield": {"value": "Hot"}})
    api.delete(path)

    events = list(Event.objects.filter(topic__startswith="shop_metafields/").order_by("id"))
    assert [event.topic.split("/")[1] for event in events] == ["create", "update", "delete"]
    assert events[1].changes == {"value": ["Cold", "Hot"]}
    assert {event.actor for event in events} == {f"app:{api.installation.app_id}"}


@pytest.mark.parametrize("escaped", [False, True])
def test_references_of_a_body_take_one_query(api: ApiClient, in_shop: Shop, settings: Settings, escaped: bool) -> None:
    ids = [make_product(f"P{number}").pk for number in range(6)]

    def count_queries(count: int) -> int:
        gids = [f"gid://{settings.BRAND}/Product/{pk}" for pk in [*ids[:count], 999]]
        value = json.dumps(gids).replace("/", "\\/") if escaped else json.dumps(gids)
        rows = [BODY | {"key": f"k{n}", "type": "list.product_reference", "value": value} for n in range(count)]
        with CaptureQueriesContext(connection) as queries:
            response = api.post("products.json", {"product": {"title": "Refers", "metafields": rows}})
        assert response.status_code == 422
        assert "metafields.0.value" in response.json()["errors"]
        return len(queries)

    api.get("shop.json")
    assert count_queries(6) == count_queries(2)
