"""JSON schemas for the parts of catalog request bodies that are not serializer fields."""

from collections.abc import Mapping

from apps.catalog.api.parsing import GLOBAL_METAFIELDS
from apps.catalog.api.serializers import ImageBody, VariantSerializer
from apps.catalog.models import Collection
from apps.core.rest.openapi.schemas import IMAGE_PROPERTIES, IMAGE_SCHEMA, build_body_schema, build_list_schema
from apps.core.types import Schema
from apps.metafields.api.metafields import METAFIELDS_SCHEMA

_ID: Schema = {"type": ["integer", "null"]}
_OPTION: Schema = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "id": _ID,
        "name": {"type": "string"},
        "values": {"type": ["array", "null"], "items": {"type": "string"}},
    },
}
_COLLECT: Schema = {"type": "object", "properties": {"id": _ID, "product_id": _ID, "position": _ID}}


def get_product_schemas(version: str) -> Mapping[str, Schema]:
    variant = build_body_schema(VariantSerializer, version, complete=False)
    image = build_body_schema(ImageBody, version, complete=False)
    return {
        "options": _or_null(build_list_schema(_OPTION)),
        "variants": _or_null(build_list_schema(_with(variant, {"id": _ID, "metafields": METAFIELDS_SCHEMA}))),
        "images": _or_null(build_list_schema(_with(image, {"id": _ID, **get_image_schemas(version)}))),
        "metafields": METAFIELDS_SCHEMA,
        **{name: {"type": ["string", "null"]} for name in GLOBAL_METAFIELDS},
    }


def get_image_schemas(version: str) -> Mapping[str, Schema]:
    properties = build_body_schema(ImageBody, version, complete=False)["properties"]
    return {**IMAGE_PROPERTIES, "variant_ids": properties["variant_ids"], "metafields": METAFIELDS_SCHEMA}


def get_collection_schemas(kind: str) -> Mapping[str, Schema]:
    collects = {"collects": _or_null(build_list_schema(_COLLECT))} if kind == Collection.Kind.CUSTOM else {}
    return {"image": IMAGE_SCHEMA, "metafields": METAFIELDS_SCHEMA, **collects}


def _with(schema: Schema, members: Mapping[str, Schema]) -> Schema:
    return {**schema, "properties": {**schema["properties"], **members}}


def _or_null(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}
