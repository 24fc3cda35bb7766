"""Build a Postman collection (format v2.1) from an OpenAPI document."""

import json
import re
from typing import Any
from urllib.parse import parse_qsl

from apps.core.rest.openapi.descriptions import singularize
from apps.core.rest.reference.examples import get_example
from apps.core.rest.reference.resource_texts import get_resource_texts_by_tag, list_resource_texts
from apps.core.types import Schema

_FORMAT = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
_BASE_URL = "http://127.0.0.1:8000"


def build_collection(document: Schema) -> dict[str, Any]:
    """Return a collection with a folder per resource and a request per operation.

    The access token, the version and the ids in paths are collection variables.
    """
    version: str = document["info"]["version"]
    variables = {"base_url": _BASE_URL, "token": "", "version": version}
    folders: dict[str, list[dict[str, Any]]] = {text.slug: [] for text in list_resource_texts()}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            slug = get_resource_texts_by_tag()[operation["tags"][0]].slug
            folders[slug].append(_build_request(method, path, operation, version, variables))
    return {
        "info": {
            "name": f"{document['info']['title']} {version}",
            "description": document["info"]["description"],
            "schema": _FORMAT,
        },
        "auth": {"type": "apikey", "apikey": _list_auth_attributes(document)},
        "variable": [{"key": key, "value": value, "type": "string"} for key, value in variables.items()],
        "item": [
            {"name": text.title, "description": text.intro, "item": folders[text.slug]}
            for text in list_resource_texts()
            if folders[text.slug]
        ],
    }


def _list_auth_attributes(document: Schema) -> list[dict[str, str]]:
    header = document["components"]["securitySchemes"]["AccessToken"]["name"]
    attributes = {"key": header, "value": "{{token}}", "in": "header"}
    return [{"key": key, "value": value, "type": "string"} for key, value in attributes.items()]


def _build_request(
    method: str, path: str, operation: Schema, version: str, variables: dict[str, str]
) -> dict[str, Any]:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    request: dict[str, Any] = {
        "method": method.upper(),
        "header": [{"key": "Content-Type", "value": "application/json"}] if body else [],
        "url": _build_url(path, operation, version, variables),
        "description": operation["description"],
    }
    if body:
        request["body"] = {
            "mode": "raw",
            "raw": json.dumps(body.get("example", {}), indent=2, ensure_ascii=False),
            "options": {"raw": {"language": "json"}},
        }
    return {"name": operation["summary"], "request": request, "response": []}


def _build_url(path: str, operation: Schema, version: str, variables: dict[str, str]) -> dict[str, Any]:
    """Return the URL of an operation, and add the ids in the URL to the variables.

    Postman's path variables must be whole path segments, but the last id of a path is followed by ``.json``. Therefore
    the ids are collection variables instead.
    """
    examples = {parameter["name"]: parameter.get("example", "") for parameter in operation["parameters"]}

    def replace_id(match: re.Match[str]) -> str:
        variable = _name_variable(match[1], match[2], operation["tags"][0])
        # The value is empty if no earlier operation had an example value for this variable.
        variables[variable] = variables.get(variable) or str(examples[match[2]])
        return f"{match[1]}/{{{{{variable}}}}}"

    path = path.replace(f"/admin/api/{version}/", "/admin/api/{{version}}/")
    path = re.sub(r"(\w+)/{(\w+)}(?!})", replace_id, path)
    url: dict[str, Any] = {"host": ["{{base_url}}"], "path": path.removeprefix("/").split("/")}
    query = _list_query(operation, version)
    if query:
        url["query"] = query
    enabled = "&".join(f"{entry['key']}={entry['value']}" for entry in query if not entry["disabled"])
    return {"raw": f"{{{{base_url}}}}{path}{f'?{enabled}' if enabled else ''}", **url}


def _name_variable(segment: str, parameter: str, tag: str) -> str:
    named_after = {"id": tag, "owner_id": segment}.get(parameter)
    return f"{singularize(named_after).replace(' ', '_')}_id" if named_after else parameter


def _list_query(operation: Schema, version: str) -> list[dict[str, Any]]:
    """Return the query parameters of an operation; optional filters are disabled."""
    parameters = [parameter for parameter in operation["parameters"] if parameter["in"] == "query"]
    is_list = any(parameter["name"] == "page_info" for parameter in parameters)
    query = [
        {
            "key": parameter["name"],
            "value": str(parameter.get("example", "")),
            "description": parameter.get("description", ""),
            "disabled": is_list or "example" not in parameter,
        }
        for parameter in parameters
    ]
    declared = {parameter["name"] for parameter in parameters}
    example = get_example(operation["operationId"], version)
    for name, value in parse_qsl(example["query"]) if example else ():
        if name not in declared | {"limit"}:
            query.append({"key": name, "value": value, "description": "", "disabled": False})
    return query
