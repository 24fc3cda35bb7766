"""Values by field on their way between a face and the tables, and what is wrong with them.

What each may be depends on its field, and is known where it is checked.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

Attrs: TypeAlias = dict[str, Any]
# The same, read only.
Given: TypeAlias = Mapping[str, Any]
# ``{field: [messages]}`` of what does not fit.
Errors: TypeAlias = dict[str, list[str]]
