"""The JSON schemas of what bodies of the catalog have besides the fields of their resource."""

from collections.abc import Mapping

from apps.api.openapi.schemas import PICTURE, PICTURE_MEMBERS, body_schema, many
from apps.api.shapes import Schema
from apps.catalog.api.bodies import GLOBAL
from apps.catalog.api.resources import ImageBody, VariantSerializer
from apps.catalog.models import Collection
from apps.metafields.api.bodies import METAFIELDS

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


def further_of_product(version: str) -> Mapping[str, Schema]:
    """Its options, variants and images, its metafields, and what search engines show of it."""
    variant = body_schema(VariantSerializer, version, complete=False)
    image = body_schema(ImageBody, version, complete=False)
    return {
        "options": _or_null(many(_OPTION)),
        "variants": _or_null(many(_with(variant, {"id": _ID, "metafields": METAFIELDS}))),
        "images": _or_null(many(_with(image, {"id": _ID, **further_of_image(version)}))),
        "metafields": METAFIELDS,
        **{name: {"type": ["string", "null"]} for name in GLOBAL},
    }


def further_of_image(version: str) -> Mapping[str, Schema]:
    """Its file, which variants show it, and its metafields."""
    taken = body_schema(ImageBody, version, complete=False)["properties"]
    return {**PICTURE_MEMBERS, "variant_ids": taken["variant_ids"], "metafields": METAFIELDS}


def further_of_collection(kind: str) -> Mapping[str, Schema]:
    """Its picture and metafields, and the products that a custom one is made of."""
    collects = {"collects": _or_null(many(_COLLECT))} if kind == Collection.Kind.CUSTOM else {}
    return {"image": PICTURE, "metafields": METAFIELDS, **collects}


def _with(schema: Schema, members: Mapping[str, Schema]) -> Schema:
    return {**schema, "properties": {**schema["properties"], **members}}


def _or_null(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}
