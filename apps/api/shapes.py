"""What the parts of the kit hand to each other: names for the shapes of JSON."""

from collections.abc import Mapping
from typing import Any

# A JSON object as it came.
Data = Mapping[str, Any]
# The checked attributes of a model, by name.
Attrs = dict[str, Any]
# The messages of a refusal, by field.
Errors = dict[str, list[str]]
# An object as it is shown.
Shown = dict[str, Any]
# A JSON schema, or a part of one.
Schema = dict[str, Any]
