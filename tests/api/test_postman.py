import json
import re
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import resolve

from apps.core.rest.management.commands import openapi
from apps.core.rest.openapi.generators import get_latest_document
from apps.core.rest.openapi.postman import build_collection
from apps.core.rest.reference.pages import get_resources
from apps.core.rest.versions import get_latest_version
from apps.core.types import Attrs
from tests.api.test_openapi import OPERATIONS
from tests.support.types import JsonObject

COLLECTION: JsonObject = build_collection(get_latest_document())
REQUESTS: list[Attrs] = [item for folder in COLLECTION["item"] for item in folder["item"]]
VARIABLES: dict[str, str] = {variable["key"]: variable["value"] for variable in COLLECTION["variable"]}


def fill_variables(text: str) -> str:
    return re.sub(r"{{(\w+)}}", lambda match: VARIABLES[match[1]], text)


def test_each_resource_is_a_folder_and_each_operation_a_request() -> None:
    assert COLLECTION["info"]["schema"].endswith("/v2.1.0/collection.json")
    assert [folder["name"] for folder in COLLECTION["item"]] == [
        page.title for page in get_resources(get_latest_version()).values()
    ]
    assert sorted(item["name"] for item in REQUESTS) == sorted(entry["summary"] for _, _, entry in OPERATIONS)
    assert all(item["request"]["description"] for item in REQUESTS)


def test_the_token_the_version_and_all_ids_are_variables() -> None:
    assert list(VARIABLES)[:3] == ["base_url", "token", "version"]
    assert (VARIABLES["token"], VARIABLES["version"]) == ("", get_latest_version())
    assert {entry["key"]: entry["value"] for entry in COLLECTION["auth"]["apikey"]} == {
        "key": "X-Platform-Access-Token",
        "value": "{{token}}",
        "in": "header",
    }
    ids = {key: value for key, value in VARIABLES.items() if key.endswith("_id")}
    assert {"product_id", "order_id", "fulfillment_event_id", "image_id"} <= ids.keys()
    assert all(value.isdigit() for value in ids.values())


def test_every_url_leads_to_its_route() -> None:
    paths = {(method.upper(), path) for method, path, _ in OPERATIONS}
    for item in REQUESTS:
        url = item["request"]["url"]
        path = "/" + "/".join(url["path"])
        assert url["raw"].partition("?")[0] == f"{{{{base_url}}}}{path}"
        assert url["host"] == ["{{base_url}}"]
        actions = getattr(resolve(fill_variables(path)).func, "actions", {})
        assert item["request"]["method"].lower() in actions, path
        pattern = re.sub(r"{{(?!version)\w+}}", "{}", path).replace("{{version}}", get_latest_version())
        assert (item["request"]["method"], pattern) in {
            (method, re.sub(r"{\w+}", "{}", described)) for method, described in paths
        }


def test_bodies_are_the_examples_of_the_document() -> None:
    described = {entry["summary"]: entry for _, _, entry in OPERATIONS}
    for item in REQUESTS:
        body = described[item["name"]].get("requestBody")
        assert ("body" in item["request"]) is (body is not None), item["name"]
        if body is None:
            continue
        assert json.loads(item["request"]["body"]["raw"]) == body["content"]["application/json"]["example"]
        assert {"key": "Content-Type", "value": "application/json"} in item["request"]["header"]


def test_optional_filters_are_disabled_and_needed_parameters_are_not() -> None:
    by_name = {item["name"]: item["request"]["url"] for item in REQUESTS}
    described = {operation["operationId"]: operation["summary"] for _, _, operation in OPERATIONS}

    products = by_name[described["get_products"]]
    assert {"limit", "vendor"} <= {entry["key"] for entry in products["query"]}
    assert all(entry["disabled"] for entry in products["query"])
    assert "?" not in products["raw"]
    levels = by_name[described["delete_inventory_levels"]]
    assert re.search(r"\?location_id=\d+&inventory_item_id=\d+$", levels["raw"])


def test_the_check_finds_each_file_that_is_out_of_date(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    names = ("DOCUMENT_PATH", "POSTMAN_PATH", "CHANGELOG_PATH")
    for name in names:
        copy = tmp_path / getattr(openapi, name).name
        copy.write_text(getattr(openapi, name).read_text())
        monkeypatch.setattr(openapi, name, copy)
    call_command("openapi", check=True)
    for name in names:
        path = getattr(openapi, name)
        text = path.read_text()
        path.write_text(text + "old\n")
        with pytest.raises(CommandError, match=path.name):
            call_command("openapi", check=True)
        call_command("openapi")
        assert path.read_text() == text
