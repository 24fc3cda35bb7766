"""What the parts of the kit hand to each other: names for the shapes of JSON."""

from typing import Any

from apps.ground.attrs import Attrs, Errors, Given

__all__ = ["Attrs", "Data", "Errors", "Schema", "Shown"]

# A JSON object as it came.
Data = Given
# An object as it is shown.
Shown = dict[str, Any]
# A JSON schema, or a part of one.
Schema = dict[str, Any]
