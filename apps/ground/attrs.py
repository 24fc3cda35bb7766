"""The attributes of a row by the names of its fields, checked by whoever hands them on."""

from typing import Any

Attrs = dict[str, Any]
