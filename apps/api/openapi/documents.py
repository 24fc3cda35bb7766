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
from django.db import models
from django.db.models import Model
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from rest_framework import serializers

from apps.api.requests.views import BARE, MANY, ONE
from apps.api.resources import fields as api
from apps.api.resources.filters import ApiFilter, IdFilter, IdsFilter, IntegerFilter, WordFilter
from apps.api.resources.serializers import ResourceSerializer, writable
from apps.api.rows.plans import fields_of
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
        schema = dict(given)
        if given and all(isinstance(value, api.ApiField) for value in given.values()):
            schema = _object_taken(given)
        return _json_content(schema, required=bool(schema.get("required")))
    if not isinstance(view, ShopViewSet) or action not in {"create", "update"}:
        return None
    wrapper = getattr(view, "body_name", view.singular)
    name = f"{_component_name(view)}{action.capitalize()}"
    schema = body_schema(view.serializer_class, version, complete=action == "create")
    wrapped = {
        "type": "object",
        "required": [wrapper],
        "properties": {wrapper: _registered(registry, name, schema)},
    }
    return _json_content(wrapped, required=True)


def _success(view: Any, action: str, version: str, registry: Any) -> Schema:
    given = view.answers.get(action, _ANSWERS.get(action, {"type": "object"}))
    status = view.statuses.get(action, 201 if action == "create" else 200)
    if isinstance(given, str):
        shown = _registered(registry, _component_name(view), resource_schema(view.serializer_class, version))
        schema = shown
        if given != BARE:
            schema = _named(view.plural, _many(shown)) if given == MANY else _named(view.singular, shown)
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


def _many(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def _refusals(registry: Any) -> Schema:
    errors = _registered(registry, "Errors", _ERRORS)
    return {status: {"description": text, **_json_content(errors)} for status, text in _REFUSALS.items()}


def _json_content(schema: Schema, *, required: bool = False) -> Schema:
    content: Schema = {"content": {"application/json": {"schema": schema}}}
    return {**content, "required": True} if required else content


def _component_name(view: Any) -> str:
    return str(view.serializer_class.__name__.removesuffix("Serializer"))


def _registered(registry: Any, name: str, schema: Schema) -> Schema:
    component = ResolvedComponent(name=name, type=ResolvedComponent.SCHEMA, schema=schema, object=name)
    registry.register_on_missing(component)
    ref: Schema = component.ref
    return ref


def resource_schema(serializer: type[ResourceSerializer[Any]], version: str) -> Schema:
    """The JSON schema of a resource as a version shows it."""
    model = serializer.Meta.model
    properties = {name: _shown(field, version, model) for name, field in fields_of(serializer, version)}
    return {"type": "object", "properties": properties}


def body_schema(serializer: type[ResourceSerializer[Any]], version: str, *, complete: bool) -> Schema:
    """The JSON schema of what a version takes; ``complete`` names the required fields."""
    fields = {field.field_name: field for field in writable(serializer, version)}
    return _object_taken(fields, complete=complete)


def _object_taken(fields: Mapping[str, Any], *, complete: bool = True) -> Schema:
    """The JSON schema of an object with these fields."""
    schema: Schema = {"type": "object", "properties": {name: _taken(field) for name, field in fields.items()}}
    required = [name for name, field in fields.items() if field.required]
    return {**schema, "required": required} if complete and required else schema


def _shown(field: Any, version: str, model: type[Model]) -> Schema:
    if isinstance(field, api.Row):
        return {"oneOf": [resource_schema(field.serializer, version), {"type": "null"}]}
    if isinstance(field, api.Rows):
        if field.schema is not None:
            return dict(field.schema)
        return _many(resource_schema(field.serializer, version) if field.serializer else {})
    if isinstance(field, api.Computed):
        return dict(field.schema)
    if isinstance(field, api.Column):
        return _stored(model, field.columns()[0])
    if getattr(field, "members", None) is not None:
        # What is shown of them has more members than what is taken.
        schema: Schema = {"type": "array", "items": {"type": "object"}} if field.many else {"type": "object"}
    else:
        schema = _typed(field)
    stored = {each.name: each for each in model._meta.concrete_fields}.get(str(field.source))
    nullable = field.allow_null and not getattr(field, "many", False)
    return _or_null(schema) if nullable or (stored is not None and stored.null) else schema


def _or_null(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]} if isinstance(schema.get("type"), str) else schema


_STORED: tuple[tuple[Any, Schema], ...] = (
    (models.BooleanField, {"type": "boolean"}),
    (models.IntegerField, {"type": "integer"}),
    (models.FloatField, {"type": "number"}),
    (models.DecimalField, {"type": "string", "format": "decimal"}),
    ((models.CharField, models.TextField), {"type": "string"}),
)


def _stored(model: type[Model], path: str) -> Schema:
    """The JSON schema of a column that is shown as it is; an ORM path may lead over relations."""
    nullable = False
    for name in path.split("__"):
        column: Any = model._meta.pk if name == "pk" else model._meta.get_field(name)
        nullable = nullable or column.null
        model = column.related_model
    if isinstance(column, models.ForeignKey):
        column = column.target_field
    schema = next((dict(schema) for kind, schema in _STORED if isinstance(column, kind)), {})
    return _or_null(schema) if nullable else schema


def _taken(field: Any) -> Schema:
    members = getattr(field, "members", None)
    if isinstance(field, api.Rows) and field.serializer is not None:
        schema = _many(body_schema(field.serializer, _version.get() or newest(), complete=True))
    elif isinstance(field, api.Row):
        schema = body_schema(field.serializer, _version.get() or newest(), complete=False)
    elif members is not None:
        schema = _many(_object_taken(members)) if field.many else _object_taken(members)
    else:
        schema = _typed(field)
    return _or_null(schema) if field.allow_null else schema


def _typed(field: Any) -> Schema:
    given: Mapping[str, Any] | None = getattr(field, "schema", None)
    if given is not None:
        return dict(given)
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
