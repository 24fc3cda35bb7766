from datetime import UTC, datetime

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.catalog.models import ProductImage, Variant
from apps.core.events.models import Event
from apps.core.registry import AlreadyRegistered
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.metafields.domain import write
from apps.metafields.domain.owners import OwnerType, get_owner_type_of_row, owner_types
from apps.metafields.domain.write import BadMetafields
from apps.metafields.models import Metafield
from tests.support.api_client import ApiClient, ClientWith, Response
from tests.support.factories.metafield_owners import KINDS, MAKERS, get_only_variant, make_owner
from tests.support.wire_tables import assert_fits, get_routes

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
BY: Attrs = {"actor": "staff:17", "at": NOON}
ROW = {"namespace": "care", "key": "wash", "value": "Cold", "type": "single_line_text_field"}
each_owner = pytest.mark.parametrize("resource", sorted(MAKERS))


def make_known_owner(resource: str) -> OwnerType:
    owner = owner_types.get(resource)
    assert owner is not None
    return owner


def test_every_registered_owner_is_tested_here() -> None:
    assert {owner.resource for owner in owner_types.values()} - {"shop"} == MAKERS.keys()


def test_registered_owners_use_the_path_in_the_table() -> None:
    paths = {route.split("/")[1] for route in get_routes("metafield")}

    assert {owner.path for owner in owner_types.values()} - {""} <= paths


@each_owner
def test_every_route_answers_as_its_clients_know_it(api: ApiClient, shop: Shop, resource: str) -> None:
    owner, row = make_known_owner(resource), make_owner(resource, shop)
    base = f"{owner.path}/{row.pk}/metafields"

    response = api.post(f"{base}.json", {"metafield": ROW})
    path = f"{base}/{response.json()['metafield']['id']}.json"
    answers = {
        "POST .json": response,
        "GET .json": api.get(f"{base}.json"),
        "GET /count.json": api.get(f"{base}/count.json"),
        "GET /{id}.json": api.get(path),
        "PUT /{id}.json": api.put(path, {"metafield": {"value": "Hot"}}),
    }
    deleted = api.delete(path)

    for route, server_response in answers.items():
        method, rest = route.split()
        assert server_response.status_code == (201 if method == "POST" else 200)
        assert_fits("metafield", f"{method} /{owner.path}/{{id}}/metafields{rest}", server_response.json())
    metafield = response.json()["metafield"]
    assert (metafield["owner_resource"], metafield["owner_id"]) == (resource, row.pk)
    assert response["Location"].endswith(f"/{path}")
    assert answers["GET /count.json"].json() == {"count": 1}
    assert answers["PUT /{id}.json"].json()["metafield"]["value"] == "Hot"
    assert deleted.json() == {}
    assert api.get(path).status_code == 404


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_kind_of_owner_goes_by_its_own_path_too(api: ApiClient, in_shop: Shop, kind: str) -> None:
    (other,) = KINDS.keys() - {kind}
    row = KINDS[kind]()

    response = api.post(f"{kind}/{row.pk}/metafields.json", {"metafield": ROW})

    metafield = response.json()["metafield"]
    assert (response.status_code, metafield["owner_resource"], metafield["owner_id"]) == (201, "collection", row.pk)
    assert api.get(f"collections/{row.pk}/metafields/{metafield['id']}.json").json() == response.json()
    assert api.get(f"{kind}/{row.pk}/metafields/count.json").json() == {"count": 1}
    assert api.get(f"{other}/{row.pk}/metafields.json").status_code == 404
    assert api.post(f"{other}/{row.pk}/metafields.json", {"metafield": ROW | {"key": "dry"}}).status_code == 404


def test_metafields_are_counted_below_the_owners_parent_too(api: ApiClient, in_shop: Shop) -> None:
    variant, stranger = get_only_variant(), MAKERS["product"]()
    write.set_metafields(variant, [ROW], **BY)

    counted = api.get(f"products/{variant.product_id}/variants/{variant.pk}/metafields/count.json")
    elsewhere = api.get(f"products/{stranger.pk}/variants/{variant.pk}/metafields/count.json")

    assert counted.json() == {"count": 1}
    assert elsewhere.status_code == 404


@each_owner
def test_owners_have_their_own(
    api: ApiClient, shop: Shop, other_shop: Shop, other_shop_api: ApiClient, resource: str
) -> None:
    owner = make_known_owner(resource)
    mine, sibling, theirs = (make_owner(resource, where) for where in (shop, shop, other_shop))
    metafield = api.post(f"{owner.path}/{mine.pk}/metafields.json", {"metafield": ROW}).json()["metafield"]
    foreign = other_shop_api.post(f"{owner.path}/{theirs.pk}/metafields.json", {"metafield": ROW}).json()["metafield"]

    for path in (
        f"{owner.path}/{sibling.pk}/metafields/{metafield['id']}.json",
        f"{owner.path}/{theirs.pk}/metafields/{foreign['id']}.json",
        f"{owner.path}/{mine.pk}/metafields/{foreign['id']}.json",
        f"metafields/{foreign['id']}.json",
    ):
        answers = [api.get(path), api.put(path, {"metafield": {"value": "x"}}), api.delete(path)]
        assert [response.status_code for response in answers] == [404] * 3, path
    for path in (f"{owner.path}/{theirs.pk}/metafields.json", f"{owner.path}/{theirs.pk}/metafields/count.json"):
        assert api.get(path).status_code == 404
    assert api.post(f"{owner.path}/{theirs.pk}/metafields.json", {"metafield": ROW}).status_code == 404
    assert api.get(f"{owner.path}/{sibling.pk}/metafields.json").json() == {"metafields": []}
    assert other_shop_api.get(f"metafields/{foreign['id']}.json").json() == {"metafield": foreign}


@each_owner
def test_every_path_needs_the_owners_scope(api: ApiClient, client_with: ClientWith, shop: Shop, resource: str) -> None:
    owner, row = make_known_owner(resource), make_owner(resource, shop)
    base = f"{owner.path}/{row.pk}/metafields.json"
    metafield = api.post(base, {"metafield": ROW}).json()["metafield"]
    at_top = f"metafields/{metafield['id']}.json"
    params = {"metafield[owner_id]": str(row.pk), "metafield[owner_resource]": resource}
    reader, stranger = client_with(f"read_{owner.scope}"), client_with("read_mobile_platform_applications")

    assert [reader.get(base).status_code, stranger.get(base).status_code] == [200, 403]
    assert [reader.get(at_top).status_code, stranger.get(at_top).status_code] == [200, 404]
    assert [client.get("metafields.json", **params).status_code for client in (reader, stranger)] == [200, 403]
    assert reader.get("metafields.json", **params).json() == {"metafields": [metafield]}
    assert reader.get("metafields/count.json", **params).json() == {"count": 1}
    body = {"metafield": {"value": "Hot"}}
    assert [client.put(at_top, body).status_code for client in (reader, stranger)] == [403, 403]
    assert [client.delete(at_top).status_code for client in (reader, stranger)] == [403, 403]
    assert [client.post(base, {"metafield": ROW}).status_code for client in (reader, stranger)] == [403, 403]
    assert api.get(at_top).json() == {"metafield": metafield}
    assert api.get("metafields.json").json() == {"metafields": []}


@each_owner
def test_an_owner_that_the_body_names_gets_the_metafield(
    api: ApiClient, client_with: ClientWith, shop: Shop, other_shop: Shop, resource: str
) -> None:
    owner, row, theirs = make_known_owner(resource), make_owner(resource, shop), make_owner(resource, other_shop)
    params = ROW | {"owner_id": row.pk, "owner_resource": resource}

    forbidden = client_with(f"read_{owner.scope}").post("metafields.json", {"metafield": params})
    foreign = api.post("metafields.json", {"metafield": params | {"owner_id": theirs.pk}})
    response = api.post("metafields.json", {"metafield": params})

    assert (forbidden.status_code, foreign.status_code, response.status_code) == (403, 404, 201)
    assert api.get(f"{owner.path}/{row.pk}/metafields.json").json() == {"metafields": [response.json()["metafield"]]}
    assert api.get("metafields.json").json() == {"metafields": []}


@each_owner
def test_an_owner_takes_its_metafields_along(shop: Shop, other_shop: Shop, resource: str) -> None:
    owners = [make_owner(resource, where) for where in (shop, shop, other_shop)]
    for row in owners:
        with shop_scope(row.shop):
            write.set_metafields(row, [ROW, ROW | {"key": "dry"}], **BY)

    with shop_scope(shop):
        type(owners[0]).objects.filter(pk=owners[0].pk).delete()
        owner_ids = set(Metafield.objects.values_list("owner_id", flat=True))

    assert owner_ids == {owners[1].pk}
    with shop_scope(other_shop):
        assert Metafield.objects.count() == 2


def test_rows_deleted_with_a_product_lose_their_metafields(api: ApiClient, in_shop: Shop) -> None:
    variant, image = make_owner("variant", in_shop), make_owner("product_image", in_shop)
    for row in (variant, image):
        write.set_metafields(row, [ROW], **BY)

    assert isinstance(variant, Variant)
    assert isinstance(image, ProductImage)
    for product_id in (variant.product_id, image.product_id):
        assert api.delete(f"products/{product_id}.json").status_code == 200

    assert not Metafield.objects.exists()


@each_owner
def test_a_reference_names_a_row_of_this_shop(api: ApiClient, shop: Shop, other_shop: Shop, resource: str) -> None:
    gid = f"gid://{settings.BRAND}/{make_known_owner(resource).gid}"
    mine, theirs = make_owner(resource, shop), make_owner(resource, other_shop)

    def set_to(value: object, kind: str = f"{resource}_reference") -> Response:
        body = ROW | {"type": kind, "value": value, "key": f"k{Metafield._base_manager.count()}"}
        return api.post("metafields.json", {"metafield": body})

    good = set_to(f"{gid}/{mine.pk}")
    rows = set_to([f"{gid}/{mine.pk}"], f"list.{resource}_reference")

    assert good.json()["metafield"]["value"] == f"{gid}/{mine.pk}"
    assert rows.json()["metafield"]["value"] == f'["{gid}/{mine.pk}"]'
    wrong_ids = [f"{gid}/{pk}" for pk in (theirs.pk, 0, 2**63, "x")]
    for value in (*wrong_ids, mine.pk, f"gid://other/{mine.pk}", ""):
        refused = set_to(value)
        assert (refused.status_code, list(refused.json()["errors"])) == (422, ["value"]), value


def test_many_are_set_at_once_and_set_again(in_shop: Shop) -> None:
    product = make_owner("product", in_shop)
    first = write.set_metafields(product, [ROW, ROW | {"key": "dry", "description": "d"}], **BY)
    rows_again = [ROW | {"value": "Hot"}, ROW | {"key": "dry"}, ROW | {"key": "new"}]
    second = write.set_metafields(product, rows_again, **BY)
    events = Event.objects.filter(topic__startswith="product_metafields").order_by("id")
    topics = list(events.values_list("topic", flat=True))
    rows = list(Metafield.objects.order_by("id").values_list("key", "value", "description"))

    assert [row.key for row in second] == ["wash", "new"], "what is as it was is not named"
    assert second[0].pk == first[0].pk
    assert rows == [("wash", "Hot", None), ("dry", "Cold", "d"), ("new", "Cold", None)]
    assert [topic.split("/")[1] for topic in topics] == ["create", "create", "update", "create"]


@pytest.mark.parametrize(
    ("rows", "errors"),
    [
        ({"a": 1}, {"metafields": ["is invalid"]}),
        ("x", {"metafields": ["is invalid"]}),
        ([ROW] * 251, {"metafields": ["has too many metafields (maximum is 250)"]}),
        (["x", ROW, None], {"metafields.0": ["is invalid"], "metafields.2": ["is invalid"]}),
        (
            [ROW, {**ROW, "value": "a\nb", "key": "k" * 31}],
            {
                "metafields.1.value": ["must be a single line of text"],
                "metafields.1.key": ["is too long (maximum is 30 characters)"],
            },
        ),
    ],
)
def test_many_are_refused_with_all_their_faults(in_shop: Shop, rows: list[Attrs], errors: dict[str, list[str]]) -> None:
    product = make_owner("product", in_shop)

    with shop_scope(in_shop), pytest.raises(BadMetafields) as error:
        write.set_metafields(product, rows, **BY)

    assert error.value.errors == errors
    assert not Metafield.objects.exists()


def test_none_at_all_are_set_without_a_query(in_shop: Shop) -> None:
    product = make_owner("product", in_shop)

    with CaptureQueriesContext(connection) as queries:
        assert write.set_metafields(product, None, **BY) == write.set_metafields(product, [], **BY) == []

    assert [query["sql"] for query in queries if "metafields" in query["sql"]] == []


def test_owners_are_distinguished_by_model(shop: Shop) -> None:
    assert get_owner_type_of_row(make_owner("variant", shop)).resource == "variant"
    assert get_owner_type_of_row(shop).resource == "shop"
    with pytest.raises(LookupError):
        get_owner_type_of_row(Metafield())
    with pytest.raises(AlreadyRegistered):
        owner_types.add(OwnerType("products", "product", Metafield, scope="products"))
