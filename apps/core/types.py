"""Type aliases for field values and their error messages."""

from collections.abc import Mapping
from typing import Any, TypeAlias

Attrs: TypeAlias = dict[str, Any]
# Read-only ``Attrs``.
ReadOnlyAttrs: TypeAlias = Mapping[str, Any]
# Error messages, keyed by field: ``{field: [messages]}``.
Errors: TypeAlias = dict[str, list[str]]
# A JSON object in a request.
RequestData = ReadOnlyAttrs
# A JSON object in a response.
Rendered = dict[str, Any]
# A complete or partial JSON schema.
Schema = dict[str, Any]
