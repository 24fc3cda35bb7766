"""Describe operations for drf-spectacular, based on viewset attributes and serializers.

drf-spectacular finds the routes. The compiled serializer declarations contain details that drf-spectacular would
otherwise have to guess from DRF serializers.
"""

import re

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent

from apps.core.rest.openapi.descriptions import build_summary
from apps.core.rest.openapi.schemas import (
    build_body_schema,
    build_list_schema,
    build_object_schema,
    build_resource_schema,
)
from apps.core.rest.requests.views import BARE, MANY, ONE, ApiView
from apps.core.rest.resources.fields import ApiField
from apps.core.rest.resources.filters import ApiFilter, ChoiceFilter, IdFilter, IdsFilter, IntegerFilter
from apps.core.rest.versions import ALL_VERSIONS
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Schema

_PAGING: list[Schema] = [
    {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 250, "default": 50}},
    {
        "name": "page_info",
        "in": "query",
        "description": "The page token from the Link header of the previous response.",
        "schema": {"type": "string"},
    },
]
_FIELDS: Schema = {
    "name": "fields",
    "in": "query",
    "description": "Comma-separated names of the fields to return; by default all fields.",
    "schema": {"type": "string"},
}
_ERRORS: Schema = {
    "type": "object",
    "required": ["errors"],
    "properties": {
        "errors": {
            "oneOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "additionalProperties": {
                        "oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
                    },
                },
            ]
        },
        "detail": {"type": "string"},
    },
}
_ERROR_DESCRIPTIONS = {
    "400": "The request cannot be parsed",
    "401": "The access token is missing or invalid",
    "403": "The access scope is missing",
    "404": "The resource does not exist in this shop",
    "422": "Values are invalid, or the status of the object does not allow the request",
    "429": "The rate limit is exceeded",
}


class ResourceSchema(AutoSchema):
    """The schema of one operation, built from its viewset."""

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: ComponentRegistry
    ) -> Schema | None:
        view = self.view
        if not isinstance(view, ApiView):
            return None
        action = view.action_map.get(method.lower(), method.lower())
        version, below = view.version, path.rsplit("{version}/", maxsplit=1)[-1]
        if not view.version_ranges.get(action, ALL_VERSIONS).includes(version):
            return None
        note = view.deprecated.get(action)
        words = re.sub(r"[{}]", "", below.removesuffix(".json")).replace("/", "_").strip("_")
        operation: Schema = {
            "operationId": f"{method.lower()}_{words}",
            "tags": [getattr(view, "plural", type(view).__name__.removesuffix("View").removesuffix("ViewSet").lower())],
            "summary": build_summary(view, action, below),
            "parameters": [*_path_parameters(path), *_query_parameters(view, action)],
            "responses": {**_success_response(view, action, version, registry), **_error_responses(registry)},
            "security": [{"AccessToken": []}],
            "x-scopes": list(view.get_scopes(method)),
        }
        if (body := _request_body(view, action, version, registry)) is not None:
            operation["requestBody"] = body
        if note is not None and note.applies_to(version):
            operation["deprecated"] = True
            operation["externalDocs"] = {"url": note.path}
        return operation


def _path_parameters(path: str) -> list[Schema]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "integer", "minimum": 1}}
        for name in re.findall(r"{(\w+)}", path)
        if name != "version"
    ]


def _query_parameters(view: ApiView, action: str) -> list[Schema]:
    if action in view.query_parameters:
        return [{"name": name, "in": "query", "schema": {"type": "string"}} for name in view.query_parameters[action]]
    if action == "retrieve":
        return [_FIELDS]
    if not isinstance(view, ShopViewSet) or action not in {"list", "count"}:
        return []
    filters = [
        {"name": name, "in": "query", "schema": _filter_schema(filter_)}
        for name, filter_ in view.filterset_class.base_filters.items()
    ]
    if action == "count":
        return filters
    orders = [f"{name} {direction}" for name in view.get_sort_columns() for direction in ("asc", "desc")]
    order: Schema = {"name": "order", "in": "query", "schema": {"type": "string", "enum": orders}}
    return [*filters, *([order] if type(view).list is ShopViewSet.list else []), *_PAGING, _FIELDS]


def _filter_schema(filter_: ApiFilter) -> Schema:
    if isinstance(filter_, IdFilter | IntegerFilter):
        return {"type": "integer"}
    if isinstance(filter_, IdsFilter):
        return {"type": "string", "description": "Comma-separated ids, at most 250."}
    if isinstance(filter_, ChoiceFilter):
        return {"type": "string", "enum": list(filter_.extra["words"])}
    return {"type": "string"}


def _request_body(view: ApiView, action: str, version: str, registry: ComponentRegistry) -> Schema | None:
    declared = view.request_bodies.get(action)
    if declared is not None:
        fields = {name: value for name, value in declared.items() if isinstance(value, ApiField)}
        schema = build_object_schema(fields, version) if fields else dict(declared)
        return _json_content(schema, required=bool(schema.get("required")))
    if not isinstance(view, ShopViewSet) or action not in {"create", "update"}:
        return None
    wrapper = getattr(view, "body_name", view.singular)
    name = f"{_component_name(view)}{action.capitalize()}"
    schema = build_body_schema(view.serializer_class, version, complete=action == "create")
    schema["properties"] |= view.get_extra_body_properties(version)
    wrapped = {
        "type": "object",
        "required": [wrapper],
        "properties": {wrapper: _register_component(registry, name, schema)},
    }
    return _json_content(wrapped, required=True)


def _success_response(view: ApiView, action: str, version: str, registry: ComponentRegistry) -> Schema:
    declared = view.responses.get(action, _RESPONSES.get(action, {"type": "object"}))
    status = view.success_statuses.get(action, 201 if action == "create" else 200)
    if isinstance(declared, str):
        resource = build_resource_schema(view.serializer_class, version)
        if isinstance(view, ShopViewSet):
            resource["properties"] |= view.detail_properties
        schema = _register_component(registry, _component_name(view), resource)
        if declared == MANY:
            schema = _wrap_in_object(view.plural, build_list_schema(schema))
        elif declared == ONE:
            schema = _wrap_in_object(view.singular, schema)
        if declared != BARE:
            schema["properties"] |= view.extra_response_properties.get(action, {})
    else:
        schema = dict(declared)
    return {str(status): {"description": "Success", **_json_content(schema)}}


# The response kind of each standard action.
_RESPONSES: dict[str, Schema | str] = {
    "list": MANY,
    "create": ONE,
    "retrieve": ONE,
    "update": ONE,
    "destroy": {"type": "object", "maxProperties": 0},
    "count": {"type": "object", "required": ["count"], "properties": {"count": {"type": "integer"}}},
}


def _wrap_in_object(name: str, schema: Schema) -> Schema:
    return {"type": "object", "required": [name], "properties": {name: schema}}


def _error_responses(registry: ComponentRegistry) -> Schema:
    errors = _register_component(registry, "Errors", _ERRORS)
    return {status: {"description": text, **_json_content(errors)} for status, text in _ERROR_DESCRIPTIONS.items()}


def _json_content(schema: Schema, *, required: bool = False) -> Schema:
    content: Schema = {"content": {"application/json": {"schema": schema}}}
    return {**content, "required": True} if required else content


def _component_name(view: ApiView) -> str:
    return view.serializer_class.__name__.removesuffix("Serializer")


def _register_component(registry: ComponentRegistry, name: str, schema: Schema) -> Schema:
    component = ResolvedComponent(name=name, type=ResolvedComponent.SCHEMA, schema=schema, object=name)
    registry.register_on_missing(component)
    return component.ref
