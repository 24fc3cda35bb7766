"""Tests of the REST resources of store imports and of their maps of IDs."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from apps.core.tenancy.scope import shop_scope
from apps.store_imports.domain.id_map import MAPPED_RESOURCES
from apps.store_imports.domain.streams import streams
from apps.store_imports.models import MappedId, StoreConnection, StoreImport
from tests.store_imports.conftest import StoreImporter
from tests.store_imports.old_store import fill_store
from tests.support import factories
from tests.support.api_client import ApiClient, Response
from tests.support.factories.store_imports import make_mapped_id, make_store_import
from tests.support.types import JsonObject

# The resources that only imports use.
INTERNAL = {"article_image", "installation", "theme_file", "user"}


@pytest.fixture
def store_import(target: ApiClient) -> StoreImport:
    """Return an import with three mapped orders, and two mapped customers with the same source IDs."""
    with shop_scope(target.installation.shop):
        row = make_store_import(target.installation.shop)
        for resource, source_id, target_id in (
            *(("order", 7, 70), ("order", 3, 90), ("order", 2**62, 80)),
            *(("customer", 3, 31), ("customer", 7, 71)),
        ):
            make_mapped_id(row, resource, source_id, target_id)
    return row


def list_ids(api: ApiClient, row: StoreImport, **query: object) -> list[tuple[str, int, int]]:
    response = api.get(f"store_imports/{row.pk}/mapped_ids.json", **query)
    assert response.status_code == 200, response.content
    return read_ids(response)


def read_ids(response: Response) -> list[tuple[str, int, int]]:
    return [(row["resource"], row["source_id"], row["target_id"]) for row in response.json()["mapped_ids"]]


def make_client(api: ApiClient, *scopes: str) -> ApiClient:
    """Return a client of another app in the same shop."""
    installation = factories.make_installation(api.installation.shop, list(scopes))
    return ApiClient(factories.make_token(installation), installation)


def test_apps_find_the_imported_objects_by_their_old_ids(importer: StoreImporter) -> None:
    fill_store(importer.source)
    importer.run()
    api = make_client(importer.target, "read_store_imports")

    (row,) = api.get("store_imports.json").json()["store_imports"]
    old = {product["handle"]: product["id"] for product in importer.source.get("products.json").json()["products"]}
    new = {product["handle"]: product["id"] for product in importer.target.get("products.json").json()["products"]}
    mapped = api.get(
        f"store_imports/{row['id']}/mapped_ids.json", resource="product", source_ids=",".join(map(str, old.values()))
    )

    assert (row["source_url"], row["state"]) == (importer.get_arguments()[0], "done")
    assert row["finished_at"]
    assert row["complete_since"] == row["pass_started_at"]
    assert (row["ended_at"], api.get("store_imports/count.json").json()) == (None, {"count": 1})
    counts = {stream["name"]: stream for stream in row["streams"]}
    assert {name: counts["products"][name] for name in ("total", "new", "changed", "unchanged", "failed")} == {
        "total": 5,
        "new": 5,
        "changed": 0,
        "unchanged": 0,
        "failed": 0,
    }
    assert read_ids(mapped) == sorted(("product", old[handle], new[handle]) for handle in old)
    with shop_scope(importer.shop):
        resources = set(MappedId.objects.values_list("resource", flat=True))
    own = {resource for resource in resources if not resource.endswith("_metafields")}
    assert own - INTERNAL <= set(MAPPED_RESOURCES)


def test_resources_of_all_streams_can_be_looked_up_except_internal_ones() -> None:
    resources = {stream.resource for stream in streams.values()}

    missing = resources - set(MAPPED_RESOURCES)

    assert missing == {name for name in resources if name.endswith("_metafields")} | {"theme_file", "user"}


def test_the_response_has_no_token_and_nothing_of_the_connection(target: ApiClient, store_import: StoreImport) -> None:
    with shop_scope(store_import.shop):
        StoreConnection.objects.update(state="paused")

    response = target.get(f"store_imports/{store_import.pk}.json")

    assert response.json()["store_import"] == {
        "id": store_import.pk,
        "source_url": "https://old.example",
        "state": "paused",
        "created_at": response.json()["store_import"]["created_at"],
        "pass_started_at": "2026-07-01T08:00:00+00:00",
        "complete_since": "2026-07-01T08:00:00+00:00",
        "finished_at": "2026-07-01T09:30:00+00:00",
        "ended_at": None,
        "streams": [
            {
                "name": "orders",
                "total": 3,
                "new": 2,
                "changed": 0,
                "unchanged": 0,
                "failed": 1,
                "finished_at": "2026-07-01T09:30:00+00:00",
            }
        ],
    }
    assert not re.search("token|secret|brand", response.content.decode())


@pytest.mark.parametrize(
    ("own_state", "connection_state", "state"),
    [("running", "ready", "ready"), ("running", "failed", "failed"), ("running", "done", "running")],
)
def test_the_state_is_that_of_an_unfinished_background_run(
    target: ApiClient, store_import: StoreImport, own_state: str, connection_state: str, state: str
) -> None:
    with shop_scope(store_import.shop):
        StoreImport.objects.update(state=own_state)
        StoreConnection.objects.update(state=connection_state)

    assert target.get(f"store_imports/{store_import.pk}.json", fields="state").json()["store_import"]["state"] == state


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ({}, [(3, 90), (7, 70), (2**62, 80)]),
        ({"source_ids": "7,3,5"}, [(3, 90), (7, 70)]),
        ({"source_ids": str(2**62)}, [(2**62, 80)]),
        ({"target_ids": "80, 90"}, [(3, 90), (2**62, 80)]),
        ({"source_ids": "3", "target_ids": "70"}, []),
    ],
)
def test_filters_limit_the_map_of_one_resource(
    target: ApiClient, store_import: StoreImport, query: JsonObject, ids: list[tuple[int, int]]
) -> None:
    path = f"store_imports/{store_import.pk}/mapped_ids"

    assert list_ids(target, store_import, resource="order", **query) == [("order", *pair) for pair in ids]
    assert target.get(f"{path}/count.json", resource="order", **query).json() == {"count": len(ids)}


def test_pages_of_the_map_are_linked_in_both_directions(target: ApiClient, store_import: StoreImport) -> None:
    path = f"store_imports/{store_import.pk}/mapped_ids.json"

    first = target.get(path, resource="order", limit=2)
    second = target.get(path, limit=2, page_info=get_token(first, "next"))
    back = target.get(path, limit=2, page_info=get_token(second, "previous"))

    assert read_ids(first) == read_ids(back) == [("order", 3, 90), ("order", 7, 70)]
    assert read_ids(second) == [("order", 2**62, 80)]
    assert 'rel="next"' not in second["Link"]


def get_token(response: Response, relation: str) -> str:
    links = dict(re.findall(r'<([^>]+)>; rel="(\w+)"', response["Link"]))
    (url,) = (url for url, name in links.items() if name == relation)
    return parse_qs(urlsplit(url).query)["page_info"][0]


@pytest.mark.parametrize(
    ("query", "errors"),
    [
        ({}, {"resource": "can't be blank"}),
        ({"source_ids": "1"}, {"resource": "can't be blank"}),
        ({"resource": ""}, {"resource": "can't be blank"}),
        ({"resource": "order", "source_ids": "x"}, {"source_ids": "is invalid"}),
        ({"resource": "order", "source_ids": "0"}, {"source_ids": "is invalid"}),
        ({"resource": "order", "target_ids": str(2**63)}, {"target_ids": "is invalid"}),
        ({"resource": "order", "source_ids": ",".join(["1"] * 251)}, {"source_ids": "must be at most 250 ids"}),
    ],
)
def test_invalid_filters_are_refused_by_list_and_count(
    target: ApiClient, store_import: StoreImport, query: JsonObject, errors: JsonObject
) -> None:
    for name in ("mapped_ids", "mapped_ids/count"):
        response = target.get(f"store_imports/{store_import.pk}/{name}.json", **query)
        assert (response.status_code, response.json()) == (400, {"errors": errors})


@pytest.mark.parametrize("resource", ["orders", "theme_file", "product_metafields"])
def test_unknown_and_internal_resources_are_refused(
    target: ApiClient, store_import: StoreImport, resource: str
) -> None:
    response = target.get(f"store_imports/{store_import.pk}/mapped_ids.json", resource=resource)

    assert response.status_code == 400
    assert response.json()["errors"]["resource"].startswith("must be one of shop, location,")


def test_since_id_and_order_are_refused_instead_of_ignored(target: ApiClient, store_import: StoreImport) -> None:
    response = target.get(
        f"store_imports/{store_import.pk}/mapped_ids.json", resource="order", since_id=3, order="id asc"
    )

    assert response.status_code == 400
    assert response.json() == {"errors": {"order": "cannot be passed", "since_id": "cannot be passed"}}


def test_the_scope_is_required(target: ApiClient, store_import: StoreImport) -> None:
    reader, other = make_client(target, "read_store_imports"), make_client(target, "read_orders", "read_products")

    assert list_ids(reader, store_import, resource="order", source_ids=3) == [("order", 3, 90)]
    for path in ("store_imports.json", f"store_imports/{store_import.pk}/mapped_ids.json"):
        response = other.get(path, resource="order")
        assert response.status_code == 403
        assert "read_store_imports scope" in response.json()["errors"]
        assert reader.post(path, {}).status_code == 405


def test_another_shop_sees_no_import_and_no_map(
    source: ApiClient, target: ApiClient, store_import: StoreImport
) -> None:
    with shop_scope(source.installation.shop):
        own = make_store_import(source.installation.shop)

    assert [row["id"] for row in source.get("store_imports.json").json()["store_imports"]] == [own.pk]
    assert list_ids(source, own, resource="order") == []
    for path in (".json", "/mapped_ids.json", "/mapped_ids/count.json"):
        response = source.get(f"store_imports/{store_import.pk}{path}", resource="order")
        assert (response.status_code, response.json()) == (404, {"errors": "Not Found"})
    token = get_token(target.get(f"store_imports/{store_import.pk}/mapped_ids.json", resource="order", limit=1), "next")
    response = source.get(f"store_imports/{own.pk}/mapped_ids.json", page_info=token)
    assert (response.status_code, response.json()) == (400, {"errors": {"page_info": "Invalid value."}})
