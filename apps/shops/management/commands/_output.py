"""How the commands that people and scripts call print their result."""

import json

from django.core.exceptions import ValidationError
from django.core.management.base import OutputWrapper


def sentence(error: ValidationError) -> str:
    """All messages of a validation as one line, each after the name of its field."""
    return "; ".join(f"{field}: {' '.join(messages)}" for field, messages in error.message_dict.items())


def print_result(out: OutputWrapper, result: dict[str, object], *, as_json: bool) -> None:
    """One JSON object on one line, or a line per value for people."""
    if as_json:
        out.write(json.dumps(result))
        return
    for name, value in result.items():
        out.write(f"{name}: {value}")
