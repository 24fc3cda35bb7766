"""The JSON schemas of resources: as a version shows them, and as it takes them."""

from collections.abc import Mapping
from typing import Any

from django.db import models
from django.db.models import Model
from rest_framework import serializers

from apps.api.resources.fields import AnyField, ApiField, ChoiceField, Column, Computed, TextField
from apps.api.resources.members import ObjectField, ObjectsField, ValuesField
from apps.api.resources.related import Row, Rows
from apps.api.resources.serializers import AnyColumn, Resource, writable
from apps.api.rows.plans import fields_of
from apps.api.shapes import Schema


def resource_schema(serializer: Resource, version: str) -> Schema:
    """The JSON schema of a resource as a version shows it."""
    model = serializer.Meta.model
    properties = {name: _shown(field, version, model) for name, field in fields_of(serializer, version)}
    return {"type": "object", "properties": properties}


def body_schema(serializer: Resource, version: str, *, complete: bool) -> Schema:
    """The JSON schema of what a version takes; ``complete`` names the required fields."""
    fields = {str(field.field_name): field for field in writable(serializer, version)}
    return members_schema(fields, version, complete=complete)


def members_schema(fields: Mapping[str, ApiField], version: str, *, complete: bool = True) -> Schema:
    """The JSON schema of an object with these fields; ``complete`` names the required ones."""
    schema: Schema = {"type": "object", "properties": {name: _taken(field, version) for name, field in fields.items()}}
    required = [name for name, field in fields.items() if field.required]
    return {**schema, "required": required} if complete and required else schema


# The JSON schema of a picture that a body brings.
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
PICTURE_MEMBERS: Mapping[str, Schema] = {
    "attachment": {**_TEXT_OR_NULL, "description": "The file, as Base64."},
    "src": {**_TEXT_OR_NULL, "description": "Where it is downloaded from, instead."},
    "filename": _TEXT_OR_NULL,
}
PICTURE: Schema = {
    "description": "An empty text or null removes it.",
    "oneOf": [
        {"type": "object", "properties": {**PICTURE_MEMBERS, "alt": _TEXT_OR_NULL}},
        {"type": "string", "maxLength": 0},
        {"type": "null"},
    ],
}


def many(schema: Schema) -> Schema:
    """The JSON schema of a list."""
    return {"type": "array", "items": schema}


def _shown(field: ApiField, version: str, model: type[Model]) -> Schema:
    if isinstance(field, Row):
        return {"oneOf": [resource_schema(field.serializer, version), {"type": "null"}]}
    if isinstance(field, Rows):
        if field.schema is not None:
            return dict(field.schema)
        return many(resource_schema(field.serializer, version) if field.serializer else {})
    if isinstance(field, Computed):
        return dict(field.schema or {})
    if isinstance(field, Column):
        return _stored(model, field.columns()[0])
    # What is shown of objects has more members than what is taken.
    if isinstance(field, ObjectsField):
        schema = many({"type": "object"})
    elif isinstance(field, ObjectField):
        schema = {"type": "object"}
    else:
        schema = _typed(field)
    stored = {each.name: each for each in model._meta.concrete_fields}.get(str(field.source))
    nullable = field.allow_null and not isinstance(field, ObjectsField)
    return _or_null(schema) if nullable or (stored is not None and stored.null) else schema


def _or_null(schema: Schema) -> Schema:
    if not isinstance(schema.get("type"), str):
        return schema
    either: Schema = {**schema, "type": [schema["type"], "null"]}
    return {**either, "enum": [*schema["enum"], None]} if "enum" in schema else either


_STORED: tuple[tuple[type[AnyColumn] | tuple[type[AnyColumn], ...], Schema], ...] = (
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


def _taken(field: ApiField, version: str) -> Schema:
    if isinstance(field, Rows) and field.serializer is not None:
        schema = many(body_schema(field.serializer, version, complete=True))
    elif isinstance(field, Row):
        taken = field.taken
        schema = _taken(taken, version) if taken else body_schema(field.serializer, version, complete=False)
    elif isinstance(field, ObjectField):
        schema = members_schema(field.members, version)
    elif isinstance(field, ObjectsField):
        schema = many(members_schema(field.members, version))
    elif isinstance(field, ValuesField):
        schema = many(_taken(field.item, version))
    else:
        schema = _typed(field)
    return _or_null(schema) if field.allow_null else schema


_KINDS: tuple[tuple[type[AnyField], Schema], ...] = (
    (serializers.BooleanField, {"type": "boolean"}),
    (serializers.IntegerField, {"type": "integer"}),
    (serializers.FloatField, {"type": "number"}),
    (serializers.DecimalField, {"type": "string", "format": "decimal"}),
    (serializers.DateTimeField, {"type": "string", "format": "date-time"}),
    (serializers.DateField, {"type": "string", "format": "date"}),
    (serializers.JSONField, {}),
)


def _typed(field: ApiField) -> Schema:
    if field.schema is not None:
        return dict(field.schema)
    if isinstance(field, ChoiceField):
        return {"type": "string", "enum": list(field.choices)}
    for kind, schema in _KINDS:
        if isinstance(field, kind):
            return dict(schema)
    longest = field.max_length if isinstance(field, TextField) else None
    return {"type": "string", "maxLength": longest} if longest else {"type": "string"}
