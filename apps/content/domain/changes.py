"""What a change changed, for the audit trail."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import Model

_LONGEST = 500


def changes_of(instance: Model, attrs: Mapping[str, Any]) -> dict[str, list[Any]]:
    """``{field: [before, after]}`` of what new values would change, as JSON values; long texts are cut."""
    return {
        name: [_plain(getattr(instance, name)), _plain(value)]
        for name, value in attrs.items()
        if getattr(instance, name) != value
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
    return value if isinstance(value, bool | int | float | type(None) | list | dict) else str(value)
