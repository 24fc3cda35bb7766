"""Type aliases for JSON values that the parts of the API kit exchange."""

from typing import Any

from apps.ground.types import Attrs, Errors, ReadOnlyAttrs

__all__ = ["Attrs", "Errors", "Rendered", "RequestData", "Schema"]

# A JSON object as received.
RequestData = ReadOnlyAttrs
# A JSON object as rendered.
Rendered = dict[str, Any]
# A JSON schema, or a part of one.
Schema = dict[str, Any]
