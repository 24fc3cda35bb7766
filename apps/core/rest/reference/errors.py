"""Load the API's errors, their causes and fixes. ``tests/api/test_reference.py`` checks that none is missing."""

import inspect
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

from apps.core.i18n import error_messages

_PATH = Path(__file__).with_name("errors.toml")


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """An error response that is not about a field."""

    status: int
    name: str
    body: str
    cause: str
    cure: str


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    """An error message about a field, with ``…`` for the variable part."""

    says: str
    cause: str
    cure: str


@dataclass(frozen=True, slots=True)
class ResourceRule:
    """A business rule of a resource that can refuse a request.

    ``operations`` are patterns for operation ids, separated by spaces. The default is all POST and PUT operations.
    """

    resource: str
    cause: str
    cure: str
    operations: str = ""

    def applies_to(self, operation_id: str, resource: str) -> bool:
        if self.operations:
            return any(fnmatchcase(operation_id, pattern) for pattern in self.operations.split())
        return resource == self.resource and operation_id.startswith(("post_", "put_"))


@cache
def load_entries() -> dict[str, Any]:
    """Return the content of ``errors.toml``."""
    return tomllib.loads(_PATH.read_text())


@cache
def list_error_responses() -> list[ErrorResponse]:
    return [ErrorResponse(name=HTTPStatus(entry["status"]).phrase, **entry) for entry in load_entries()["answer"]]


@cache
def list_error_messages() -> list[ErrorMessage]:
    fixed = [
        ErrorMessage(get_phrase_text(name), cause, cure) for name, (cause, cure) in load_entries()["phrase"].items()
    ]
    single = [
        ErrorMessage(says.replace("{}", "…"), cause, cure) for says, (cause, cure) in load_entries()["text"].items()
    ]
    return [message for message in (*fixed, *single) if message.says]


@cache
def list_rules() -> list[ResourceRule]:
    return [ResourceRule(*entry) for entry in load_entries()["refusal"].values()]


def get_phrase_text(name: str) -> str:
    """Return the message ``name`` with ``…`` for the variable part, or an empty string if it is not a full message."""
    phrase: str | Callable[..., str] = getattr(error_messages, name)
    if isinstance(phrase, str):
        return phrase
    if name == "format_bytes":
        return ""
    arguments = [
        2**20 if parameter.annotation in {int, "int"} else ["…"] if name == "one_of" else "…"
        for parameter in inspect.signature(phrase).parameters.values()
        if parameter.default is parameter.empty
    ]
    return phrase(*arguments).replace("1 MB", "…")
