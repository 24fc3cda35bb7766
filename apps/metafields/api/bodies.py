"""What the bodies of owners say of their metafields."""

from apps.api.shapes import Schema
from apps.metafields.domain.setting import MAX_AT_ONCE

_TEXT: Schema = {"type": "string"}

# The JSON schema of a list of metafields in the body of their owner.
METAFIELDS: Schema = {
    "type": ["array", "null"],
    "maxItems": MAX_AT_ONCE,
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
