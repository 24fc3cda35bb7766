"""The description of an operation, from the attributes of its viewset.

drf-spectacular walks the routes; what it would have to guess from DRF serializers, the compiled declarations know.
"""

import re

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent

from apps.api.openapi.schemas import body_schema, many, members_schema, resource_schema
from apps.api.openapi.sentences import sentence
from apps.api.requests.views import BARE, MANY, ONE, ApiView
from apps.api.resources.fields import ApiField
from apps.api.resources.filters import ApiFilter, IdFilter, IdsFilter, IntegerFilter, WordFilter
from apps.api.shapes import Schema
from apps.api.versions import ALWAYS
from apps.api.viewsets import ShopViewSet

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

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: ComponentRegistry
    ) -> Schema | None:
        """The operation, or None in versions that do not have it."""
        view = self.view
        if not isinstance(view, ApiView):
            return None
        action = view.action_map.get(method.lower(), method.lower())
        version = view.version
        if not view.gates.get(action, ALWAYS).admits(version):
            return None
        note = view.deprecated.get(action)
        scopes = view.scopes_for(method)
        operation: Schema = {
            "operationId": _operation_id(method, path),
            "tags": [_tag(view)],
            "summary": sentence(view, action, path.rsplit("{version}/", maxsplit=1)[-1]),
            "parameters": [*_path_parameters(path), *_query_parameters(view, action)],
            "responses": {**_success(view, action, version, registry), **_refusals(registry)},
            "security": [{"AccessToken": []}],
            "x-scopes": list(scopes),
        }
        if (body := _request_body(view, action, version, registry)) is not None:
            operation["requestBody"] = body
        if note is not None and note.applies(version):
            operation["deprecated"] = True
            operation["externalDocs"] = {"url": note.path}
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


def _path_parameters(path: str) -> list[Schema]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "integer", "minimum": 1}}
        for name in re.findall(r"{(\w+)}", path)
        if name != "version"
    ]


def _query_parameters(view: ApiView, action: str) -> list[Schema]:
    if action in view.queries:
        return [{"name": name, "in": "query", "schema": {"type": "string"}} for name in view.queries[action]]
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


def _request_body(view: ApiView, action: str, version: str, registry: ComponentRegistry) -> Schema | None:
    given = view.bodies.get(action)
    if given is not None:
        fields = {name: value for name, value in given.items() if isinstance(value, ApiField)}
        schema = members_schema(fields, version) if fields else dict(given)
        return _json_content(schema, required=bool(schema.get("required")))
    if not isinstance(view, ShopViewSet) or action not in {"create", "update"}:
        return None
    wrapper = getattr(view, "body_name", view.singular)
    name = f"{_component_name(view)}{action.capitalize()}"
    schema = body_schema(view.serializer_class, version, complete=action == "create")
    schema["properties"] |= view.further(version)
    wrapped = {
        "type": "object",
        "required": [wrapper],
        "properties": {wrapper: _registered(registry, name, schema)},
    }
    return _json_content(wrapped, required=True)


def _success(view: ApiView, action: str, version: str, registry: ComponentRegistry) -> Schema:
    given = view.answers.get(action, _ANSWERS.get(action, {"type": "object"}))
    status = view.statuses.get(action, 201 if action == "create" else 200)
    if isinstance(given, str):
        resource = resource_schema(view.serializer_class, version)
        if isinstance(view, ShopViewSet):
            resource["properties"] |= view.alone
        shown = _registered(registry, _component_name(view), resource)
        schema = shown
        if given != BARE:
            schema = _named(view.plural, many(shown)) if given == MANY else _named(view.singular, shown)
            if action in view.beside:
                schema["properties"] |= view.beside[action]
    else:
        schema = dict(given)
    return {str(status): {"description": "Done", **_json_content(schema)}}


# What the actions that every resource has answer.
_ANSWERS: dict[str, Schema | str] = {
    "list": MANY,
    "create": ONE,
    "retrieve": ONE,
    "update": ONE,
    "destroy": {"type": "object", "maxProperties": 0},
    "count": {"type": "object", "required": ["count"], "properties": {"count": {"type": "integer"}}},
}


def _named(name: str, schema: Schema) -> Schema:
    return {"type": "object", "required": [name], "properties": {name: schema}}


def _refusals(registry: ComponentRegistry) -> Schema:
    errors = _registered(registry, "Errors", _ERRORS)
    return {status: {"description": text, **_json_content(errors)} for status, text in _REFUSALS.items()}


def _json_content(schema: Schema, *, required: bool = False) -> Schema:
    content: Schema = {"content": {"application/json": {"schema": schema}}}
    return {**content, "required": True} if required else content


def _component_name(view: ApiView) -> str:
    return view.serializer_class.__name__.removesuffix("Serializer")


def _registered(registry: ComponentRegistry, name: str, schema: Schema) -> Schema:
    component = ResolvedComponent(name=name, type=ResolvedComponent.SCHEMA, schema=schema, object=name)
    registry.register_on_missing(component)
    ref: Schema = component.ref
    return ref
