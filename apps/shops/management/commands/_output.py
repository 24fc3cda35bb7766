import json

from django.core.exceptions import ValidationError
from django.core.management.base import OutputWrapper

from apps.core.exceptions import DomainError


def sentence(error: DomainError | ValidationError) -> str:
    """Return an error as one line. Each field's messages follow the field name."""
    if isinstance(error, DomainError):
        return error.sentence
    return "; ".join(f"{field}: {' '.join(messages)}" for field, messages in error.message_dict.items())


def print_result(out: OutputWrapper, result: dict[str, object], *, as_json: bool) -> None:
    if as_json:
        out.write(json.dumps(result))
        return
    for name, value in result.items():
        out.write(f"{name}: {value}")
