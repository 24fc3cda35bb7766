"""Output helpers for management commands."""

import json

from django.core.exceptions import ValidationError
from django.core.management.base import OutputWrapper


def sentence(error: ValidationError) -> str:
    """Return a validation error as one line. Each field's messages follow the field name."""
    return "; ".join(f"{field}: {' '.join(messages)}" for field, messages in error.message_dict.items())


def print_result(out: OutputWrapper, result: dict[str, object], *, as_json: bool) -> None:
    """Print the result as one line of JSON, or as one line per value."""
    if as_json:
        out.write(json.dumps(result))
        return
    for name, value in result.items():
        out.write(f"{name}: {value}")
