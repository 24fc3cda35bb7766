from typing import Any

from tests.support.api_client import ApiClient
from tests.support.types import JsonObject


def execute(api: ApiClient, query: str, variables: object = None, **rest: object) -> JsonObject:
    response = api.post("graphql.json", {"query": query, "variables": variables, **rest})
    assert response.status_code == 200, response.content
    assert response["Content-Type"] == "application/json; charset=utf-8"
    return response.json()


def get_data(api: ApiClient, query: str, variables: Any = None, **rest: object) -> JsonObject:
    result = execute(api, query, variables, **rest)
    assert "errors" not in result, result["errors"]
    return result["data"]


def get_error_codes(result: JsonObject) -> list[str]:
    assert all(error["message"] for error in result["errors"])
    return [error["extensions"]["code"] for error in result["errors"]]
