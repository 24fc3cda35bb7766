"""Validate values against the JSON schemas of the payment handler.

Values are validated without network access, and with the formats of ``FORMATS`` only. Few processes validate any value,
so this module and ``jsonschema`` are imported when they are needed.
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError as NotValid
from django.core.validators import validate_email
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from referencing import Registry
from referencing.jsonschema import DRAFT202012, SchemaRegistry

from apps.core.i18n.error_messages import BLANK, INVALID, NOT_IN_LIST, too_long
from apps.core.types import Errors
from apps.payments.domain.schemas import PLACEHOLDER, get_schema_path, group_messages, load_documents

FORMATS = FormatChecker(formats=())
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?:[!#$&-;=?-Z\[\]_a-z~]|%[0-9A-Fa-f]{2})+")


@FORMATS.checks("date-time", raises=ValueError)
def _is_moment(value: object) -> bool:
    """Return True for an RFC 3339 time with seconds and an offset."""
    if not isinstance(value, str):
        return True
    return _MOMENT.fullmatch(value) is not None and bool(datetime.fromisoformat(value.upper()))


@FORMATS.checks("uri", raises=ValueError)
def _is_uri(value: object) -> bool:
    """Return True for an absolute RFC 3986 URI in ASCII."""
    return not isinstance(value, str) or (_URI.fullmatch(value) is not None and bool(urlsplit(value)))


@FORMATS.checks("email", raises=NotValid)
def _is_email(value: object) -> bool:
    """Validate an email address with the same rules as the rest of the product."""
    if isinstance(value, str):
        validate_email(value)
    return True


def build_registry(documents: dict[str, bytes]) -> SchemaRegistry:
    schemas: list[dict[str, Any]] = [json.loads(text) for path, text in documents.items() if path.endswith(".json")]
    registry: SchemaRegistry = Registry()
    return registry.with_resources((schema["$id"], DRAFT202012.create_resource(schema)) for schema in schemas)


@cache
def get_validator(version: str, definition: str) -> Draft202012Validator:
    """Return the validator for a definition in a version of the schema, such as ``wallet_token`` or ``BUSINESS``."""
    reference = f"{PLACEHOLDER}/{get_schema_path(version)}#/$defs/{definition}"
    return Draft202012Validator({"$ref": reference}, registry=build_registry(load_documents()), format_checker=FORMATS)


def find_schema_errors(version: str, definition: str, value: object) -> Errors:
    """Return the errors by dotted field path. Messages never contain the value, which may be a secret."""
    errors = get_validator(version, definition).iter_errors(value)
    messages_by_field = group_messages(chain.from_iterable(map(_translate_error, errors)))
    return {field: [BLANK] if BLANK in messages else messages for field, messages in messages_by_field.items()}


def _translate_error(error: ValidationError) -> Iterator[tuple[str, str]]:
    path = [str(step) for step in error.absolute_path]
    if error.validator == "required":
        for name in error.validator_value:
            if name not in error.instance:
                yield ".".join([*path, name]), BLANK
        return
    yield ".".join(path) or "base", _get_message(error)


def _get_message(error: ValidationError) -> str:
    if error.instance in (None, "", [], {}):
        return BLANK
    if error.validator in {"enum", "const"}:
        return NOT_IN_LIST
    if error.validator == "maxLength":
        return too_long(error.validator_value)
    return INVALID
