"""The interface's own description: OpenAPI 3.1, one document per version, made of the declarations.

drf-spectacular walks the routes; what it would have to guess from DRF serializers, the compiled declarations know, so
an operation is described here from the viewset's attributes.
"""

import copy
import re
from collections.abc import Mapping
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from django.conf import settings
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from rest_framework import serializers

from apps.api import fields as api
from apps.api.filters import ApiFilter, IdFilter, IdsFilter, IntegerFilter, WordFilter
from apps.api.plans import fields_of
from apps.api.serializers import ResourceSerializer, writable
from apps.api.versions import ALWAYS, newest
from apps.api.viewsets import ApiView, ShopViewSet

Schema = dict[str, Any]
_version: ContextVar[str] = ContextVar("openapi_version", default="")

_PAGING: list[Schema] = [
    {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 250, "default": 50}},
    {"name": "page_info", "in": "query", "description": "From a Link header.", "schema": {"type": "string"}},
]
_FIELDS: Schema = {
    "name": "fields",
    "in": "query",
    "description": "Comma-separated names of the fields to return.",
    "schema": {"type": "string"},
}
_ERRORS: Schema = {
    "type": "object",
    "required": ["errors"],
    "properties": {
        "errors": {
            "oneOf": [
                {"type": "string"},
                {"type": "object", "additionalProperties": {"oneOf": [{"type": "string"}, {"type": "array"}]}},
            ]
        },
        "detail": {"type": "string"},
    },
}
_REFUSALS = {
    "400": "The request could not be understood",
    "401": "No valid access token",
    "403": "The scope is missing",
    "404": "There is no such resource in this shop",
    "422": "The values do not fit, or the state forbids it",
    "429": "Call limit exceeded",
}


class ResourceSchema(AutoSchema):
    """Describes one operation from its viewset."""

    def get_operation(self, path: str, path_regex: str, path_prefix: str, method: str, registry: Any) -> Schema | None:
        """The operation, or None in versions that do not have it."""
        view = self.view
        if not isinstance(view, ApiView):
            return None
        action = view.action_map.get(method.lower(), method.lower())
        version = _version.get()
        if not view.gates.get(action, ALWAYS).admits(version):
            return None
        note = view.deprecated.get(action)
        scopes = view.scopes_for(method)
        operation: Schema = {
            "operationId": _operation_id(method, path),
            "tags": [_tag(view)],
            "summary": _summary(view, action),
            "parameters": [*_path_parameters(path), *_query_parameters(view, action)],
            "responses": {**_success(view, action, version, registry), **_refusals(registry)},
            "security": [{"AccessToken": []}],
            "x-scopes": list(scopes),
        }
        if (body := _request_body(view, action, version, registry)) is not None:
            operation["requestBody"] = body
        if note is not None and note.applies(version):
            operation["deprecated"] = True
            operation["externalDocs"] = {"url": note.url}
        return operation


def _tag(view: ApiView) -> str:
    return getattr(view, "plural", type(view).__name__.removesuffix("View").removesuffix("ViewSet").lower())


def _operation_id(method: str, path: str) -> str:
    words = (
        re.sub(r"[{}]", "", path.rsplit("{version}/", maxsplit=1)[-1].removesuffix(".json"))
        .replace("/", "_")
        .strip("_")
    )
    return f"{method.lower()}_{words}"


def _summary(view: ApiView, action: str) -> str:
    doc = (getattr(view, action).__doc__ or action).strip().splitlines()[0]
    return f"{_tag(view).replace('_', ' ').capitalize()}: {doc[:1].lower()}{doc[1:]}"


def _path_parameters(path: str) -> list[Schema]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "integer", "minimum": 1}}
        for name in re.findall(r"{(\w+)}", path)
        if name != "version"
    ]


def _query_parameters(view: ApiView, action: str) -> list[Schema]:
    if not isinstance(view, ShopViewSet):
        return [_FIELDS] if action == "retrieve" else []
    if action == "retrieve":
        return [_FIELDS]
    if action not in {"list", "count"}:
        return []
    filters = [
        {"name": name, "in": "query", "schema": _filter_schema(filter_)}
        for name, filter_ in view.filterset_class.base_filters.items()
    ]
    return [*filters, *_PAGING, _FIELDS] if action == "list" else filters


def _filter_schema(filter_: ApiFilter) -> Schema:
    if isinstance(filter_, IdFilter | IntegerFilter):
        return {"type": "integer"}
    if isinstance(filter_, IdsFilter):
        return {"type": "string", "description": "Comma-separated ids, at most 250."}
    if isinstance(filter_, WordFilter):
        return {"type": "string", "enum": list(filter_.extra["words"])}
    return {"type": "string"}


def _request_body(view: ApiView, action: str, version: str, registry: Any) -> Schema | None:
    given = view.bodies.get(action)
    if given is not None:
        return _json_content(dict(given), required=True)
    if not isinstance(view, ShopViewSet) or action not in {"create", "update"}:
        return None
    name = f"{_component_name(view)}{action.capitalize()}"
    schema = body_schema(view.serializer_class, version, complete=action == "create")
    wrapped = {
        "type": "object",
        "required": [view.singular],
        "properties": {view.singular: _registered(registry, name, schema)},
    }
    return _json_content(wrapped, required=True)


def _success(view: ApiView, action: str, version: str, registry: Any) -> Schema:
    given = view.answers.get(action)
    status = "201" if action == "create" else "200"
    if given is not None:
        schema = dict(given)
    elif not isinstance(view, ShopViewSet) or action == "destroy":
        schema = {"type": "object"}
    elif action == "count":
        schema = {"type": "object", "required": ["count"], "properties": {"count": {"type": "integer"}}}
    elif action in {"list", "create", "retrieve", "update"}:
        shown = _registered(registry, _component_name(view), resource_schema(view.serializer_class, version))
        many = action == "list"
        name = view.plural if many else view.singular
        schema = {"type": "object", "properties": {name: {"type": "array", "items": shown} if many else shown}}
    else:
        schema = {"type": "object"}
    return {status: {"description": "Done", **_json_content(schema)}}


def _refusals(registry: Any) -> Schema:
    errors = _registered(registry, "Errors", _ERRORS)
    return {status: {"description": text, **_json_content(errors)} for status, text in _REFUSALS.items()}


def _json_content(schema: Schema, *, required: bool = False) -> Schema:
    content: Schema = {"content": {"application/json": {"schema": schema}}}
    return {**content, "required": True} if required else content


def _component_name(view: ShopViewSet) -> str:
    return "".join(word.capitalize() for word in view.singular.split("_"))


def _registered(registry: Any, name: str, schema: Schema) -> Schema:
    component = ResolvedComponent(name=name, type=ResolvedComponent.SCHEMA, schema=schema, object=name)
    registry.register_on_missing(component)
    ref: Schema = component.ref
    return ref


def resource_schema(serializer: type[ResourceSerializer[Any]], version: str) -> Schema:
    """The JSON schema of a resource as a version shows it."""
    properties = {name: _shown(field, version) for name, field in fields_of(serializer, version)}
    return {"type": "object", "properties": properties}


def body_schema(serializer: type[ResourceSerializer[Any]], version: str, *, complete: bool) -> Schema:
    """The JSON schema of what a version takes; ``complete`` names the required fields."""
    fields = {field.field_name: field for field in writable(serializer, version)}
    schema: Schema = {"type": "object", "properties": {name: _taken(field) for name, field in fields.items()}}
    required = [name for name, field in fields.items() if field.required]
    return {**schema, "required": required} if complete and required else schema


def _shown(field: Any, version: str) -> Schema:
    if isinstance(field, api.Row):
        return {"oneOf": [resource_schema(field.serializer, version), {"type": "null"}]}
    if isinstance(field, api.Rows):
        if field.schema is not None:
            return dict(field.schema)
        items = resource_schema(field.serializer, version) if field.serializer else {}
        return {"type": "array", "items": items}
    if isinstance(field, api.Computed):
        return dict(field.schema)
    if isinstance(field, api.Column):
        return {}
    schema = _typed(field)
    if field.allow_null and "type" in schema:
        schema["type"] = [schema["type"], "null"]
    return schema


def _taken(field: Any) -> Schema:
    schema = _typed(field)
    if field.allow_null and "type" in schema:
        schema["type"] = [schema["type"], "null"]
    return schema


def _typed(field: Any) -> Schema:
    if isinstance(field, serializers.ChoiceField):
        return {"type": "string", "enum": list(field.choices)}
    for kind, schema in (
        (serializers.BooleanField, {"type": "boolean"}),
        (serializers.IntegerField, {"type": "integer"}),
        (serializers.FloatField, {"type": "number"}),
        (serializers.DecimalField, {"type": "string", "format": "decimal"}),
        (serializers.DateTimeField, {"type": "string", "format": "date-time"}),
        (serializers.DateField, {"type": "string", "format": "date"}),
        (serializers.JSONField, {}),
    ):
        if isinstance(field, kind):
            return dict(schema)
    given: Mapping[str, Any] | None = getattr(field, "schema", None)
    if given is not None:
        return dict(given)
    text: Schema = {"type": "string"}
    if getattr(field, "max_length", None):
        text["maxLength"] = field.max_length
    return text


@lru_cache(maxsize=16)
def document(version: str) -> Schema:
    """The OpenAPI document of one version."""
    from backoffice import interface

    token = _version.set(version)
    try:
        generator = SchemaGenerator(patterns=interface.urlpatterns, api_version=version)
        made: Schema = copy.deepcopy(generator.get_schema(request=None, public=True))
    finally:
        _version.reset(token)
    made["openapi"] = "3.1.0"
    made["info"]["version"] = version
    made["servers"] = [{"url": "/"}]
    made["paths"] = {
        path.replace("{version}", version): operations for path, operations in sorted(made["paths"].items())
    }
    made.setdefault("components", {})["securitySchemes"] = {
        "AccessToken": {
            "type": "apiKey",
            "in": "header",
            "name": f"X-{settings.BRAND.capitalize()}-Access-Token",
        }
    }
    return made


def newest_document() -> Schema:
    """The document of the newest dated version."""
    return document(newest())
