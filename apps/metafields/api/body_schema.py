"""The JSON schema for metafields that are part of their owner's request body."""

from apps.api.types import Schema
from apps.metafields.domain.write import MAX_PER_BODY

_TEXT: Schema = {"type": "string"}

METAFIELDS_SCHEMA: Schema = {
    "type": ["array", "null"],
    "maxItems": MAX_PER_BODY,
    "items": {
        "type": "object",
        "required": ["namespace", "key", "value", "type"],
        "properties": {
            "namespace": _TEXT,
            "key": _TEXT,
            "value": {"description": "As its type demands."},
            "type": _TEXT,
            "description": {"type": ["string", "null"]},
        },
    },
}
