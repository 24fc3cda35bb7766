"""Build the JSON schemas of rendered resources and of request bodies, per version."""

from collections.abc import Mapping
from typing import Any

from django.db import models
from django.db.models import Model
from rest_framework import serializers

from apps.core.rest.reading.query_plans import get_readable_fields
from apps.core.rest.resources.fields import AnyField, ApiField, ChoiceField, ComputedField, ReadOnlyColumn, TextField
from apps.core.rest.resources.nested_objects import ObjectField, ObjectListField, ValueListField
from apps.core.rest.resources.nested_rows import NestedObject, NestedRows
from apps.core.rest.resources.serializers import AnyColumn, Resource, get_writable_fields
from apps.core.types import Schema


def build_resource_schema(serializer: Resource, version: str) -> Schema:
    """Return the JSON schema of a resource as rendered in a version."""
    model = serializer.Meta.model
    properties = {
        name: _rendered_schema(field, version, model) for name, field in get_readable_fields(serializer, version)
    }
    return {"type": "object", "properties": properties}


def build_body_schema(serializer: Resource, version: str, *, complete: bool) -> Schema:
    """Return the JSON schema of a request body in a version; required fields are marked if ``complete`` is True."""
    fields = {str(field.field_name): field for field in get_writable_fields(serializer, version)}
    return build_object_schema(fields, version, complete=complete)


def build_object_schema(fields: Mapping[str, ApiField], version: str, *, complete: bool = True) -> Schema:
    """Return the JSON schema of an object with these fields; required fields are marked if ``complete`` is True."""
    schema: Schema = {
        "type": "object",
        "properties": {name: _body_field_schema(field, version) for name, field in fields.items()},
    }
    required = [name for name, field in fields.items() if field.required]
    return {**schema, "required": required} if complete and required else schema


# The JSON schema of an image in a request body.
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
IMAGE_PROPERTIES: Mapping[str, Schema] = {
    "attachment": {**_TEXT_OR_NULL, "description": "The file content in Base64."},
    "src": {**_TEXT_OR_NULL, "description": "The URL to download the file from. Send either src or attachment."},
    "filename": _TEXT_OR_NULL,
}
IMAGE_SCHEMA: Schema = {
    "description": "An empty text or null removes the image.",
    "oneOf": [
        {"type": "object", "properties": {**IMAGE_PROPERTIES, "alt": _TEXT_OR_NULL}},
        {"type": "string", "maxLength": 0},
        {"type": "null"},
    ],
}


def build_list_schema(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def _rendered_schema(field: ApiField, version: str, model: type[Model]) -> Schema:
    if isinstance(field, NestedObject):
        return {"oneOf": [build_resource_schema(field.serializer, version), {"type": "null"}]}
    if isinstance(field, NestedRows):
        if field.schema is not None:
            return dict(field.schema)
        return build_list_schema(build_resource_schema(field.serializer, version) if field.serializer else {})
    if isinstance(field, ComputedField):
        return dict(field.schema or {})
    if isinstance(field, ReadOnlyColumn):
        return _column_schema(model, field.get_columns()[0])
    # Do not list the fields of nested objects, because rendered objects have more fields than request bodies.
    if isinstance(field, ObjectListField):
        schema = build_list_schema({"type": "object"})
    elif isinstance(field, ObjectField):
        schema = {"type": "object"}
    elif isinstance(field, ValueListField):
        schema = build_list_schema(_field_schema(field.item))
    else:
        schema = _field_schema(field)
    column = {candidate.name: candidate for candidate in model._meta.concrete_fields}.get(str(field.source))
    nullable = field.allow_null and not isinstance(field, (ObjectListField, ValueListField))
    return _or_null(schema) if nullable or (column is not None and column.null) else schema


def _or_null(schema: Schema) -> Schema:
    if not isinstance(schema.get("type"), str):
        return schema
    either: Schema = {**schema, "type": [schema["type"], "null"]}
    return {**either, "enum": [*schema["enum"], None]} if "enum" in schema else either


_COLUMN_SCHEMAS: tuple[tuple[type[AnyColumn] | tuple[type[AnyColumn], ...], Schema], ...] = (
    (models.BooleanField, {"type": "boolean"}),
    (models.IntegerField, {"type": "integer"}),
    (models.FloatField, {"type": "number"}),
    (models.DecimalField, {"type": "string", "format": "decimal"}),
    ((models.CharField, models.TextField), {"type": "string"}),
)


def _column_schema(model: type[Model], path: str) -> Schema:
    """Return the JSON schema of a column that is rendered unchanged; ``path`` may cross relations."""
    nullable = False
    for name in path.split("__"):
        column: Any = model._meta.pk if name == "pk" else model._meta.get_field(name)
        nullable = nullable or column.null
        model = column.related_model
    if isinstance(column, models.ForeignKey):
        column = column.target_field
    schema = next((dict(schema) for kind, schema in _COLUMN_SCHEMAS if isinstance(column, kind)), {})
    return _or_null(schema) if nullable else schema


def _body_field_schema(field: ApiField, version: str) -> Schema:
    if isinstance(field, NestedRows) and field.serializer is not None:
        schema = build_list_schema(build_body_schema(field.serializer, version, complete=True))
    elif isinstance(field, NestedObject):
        body_field = field.body_field
        schema = (
            _body_field_schema(body_field, version)
            if body_field
            else build_body_schema(field.serializer, version, complete=False)
        )
    elif isinstance(field, ObjectField):
        schema = build_object_schema(field.members, version)
    elif isinstance(field, ObjectListField):
        schema = build_list_schema(build_object_schema(field.members, version))
    elif isinstance(field, ValueListField):
        schema = build_list_schema(_body_field_schema(field.item, version))
    else:
        schema = _field_schema(field)
    return _or_null(schema) if field.allow_null else schema


_FIELD_SCHEMAS: tuple[tuple[type[AnyField], Schema], ...] = (
    (serializers.BooleanField, {"type": "boolean"}),
    (serializers.IntegerField, {"type": "integer"}),
    (serializers.FloatField, {"type": "number"}),
    (serializers.DecimalField, {"type": "string", "format": "decimal"}),
    (serializers.DateTimeField, {"type": "string", "format": "date-time"}),
    (serializers.DateField, {"type": "string", "format": "date"}),
    (serializers.JSONField, {}),
)


def _field_schema(field: ApiField) -> Schema:
    if field.schema is not None:
        return dict(field.schema)
    if isinstance(field, ChoiceField):
        return {"type": "string", "enum": list(field.choices)}
    for kind, schema in _FIELD_SCHEMAS:
        if isinstance(field, kind):
            return dict(schema)
    longest = field.max_length if isinstance(field, TextField) else None
    return {"type": "string", "maxLength": longest} if longest else {"type": "string"}
