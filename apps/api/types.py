"""Type aliases for JSON values in requests, responses and schemas."""

from typing import Any

from apps.ground.types import Attrs, Errors, ReadOnlyAttrs

__all__ = ["Attrs", "Errors", "Rendered", "RequestData", "Schema"]

# A JSON object in a request.
RequestData = ReadOnlyAttrs
# A JSON object in a response.
Rendered = dict[str, Any]
# A complete or partial JSON schema.
Schema = dict[str, Any]
