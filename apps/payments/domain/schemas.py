"""Validators made of the published documents, and their findings in the words of the interface.

Nothing is ever fetched: the registry holds our own documents and knows no way to others. Schemas come from this
repository alone, as their patterns are Python's and can be made to run for hours. Formats are checked with what the
product has for them anyway; a format that a document names and this module does not know fails the tests.
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError as NotValid
from django.core.validators import validate_email
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from referencing import Registry
from referencing.jsonschema import DRAFT202012, SchemaRegistry

from apps.ground.attrs import Errors
from apps.ground.phrases import BLANK, INVALID, NOT_IN_LIST, too_long
from apps.payments.domain import publishing
from apps.payments.models.payment_handlers import HANDLER_NAME

BUSINESS = f"{HANDLER_NAME}/business_schema"
RESPONSE = f"{HANDLER_NAME}/response_schema"
INSTRUMENT = f"{HANDLER_NAME}/payment_instrument"

FORMATS = FormatChecker(formats=())
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?:[!#$&-;=?-Z\[\]_a-z~]|%[0-9A-Fa-f]{2})+")


@FORMATS.checks("date-time", raises=ValueError)
def _is_moment(value: object) -> bool:
    """RFC 3339: with seconds and an offset."""
    if not isinstance(value, str):
        return True
    return _MOMENT.fullmatch(value) is not None and bool(datetime.fromisoformat(value.upper()))


@FORMATS.checks("uri", raises=ValueError)
def _is_uri(value: object) -> bool:
    """RFC 3986: absolute, in ASCII."""
    return not isinstance(value, str) or (_URI.fullmatch(value) is not None and bool(urlsplit(value)))


@FORMATS.checks("email", raises=NotValid)
def _is_email(value: object) -> bool:
    """An address as everywhere in the product."""
    if isinstance(value, str):
        validate_email(value)
    return True


def registry_of(documents: dict[str, bytes]) -> SchemaRegistry:
    """The documents by their ``$id``, and nothing else."""
    schemas: list[dict[str, Any]] = [json.loads(text) for path, text in documents.items() if path.endswith(".json")]
    found: SchemaRegistry = Registry()
    return found.with_resources((schema["$id"], DRAFT202012.create_resource(schema)) for schema in schemas)


@cache
def _registry() -> SchemaRegistry:
    return registry_of(publishing.documents())


@cache
def validator(version: str, definition: str) -> Draft202012Validator:
    """What checks a value against a definition of a version, such as ``wallet_token`` or ``BUSINESS``."""
    reference = f"{publishing.PLACEHOLDER}/{publishing.schema_path(version)}#/$defs/{definition}"
    return Draft202012Validator({"$ref": reference}, registry=_registry(), format_checker=FORMATS)


def findings(version: str, definition: str, value: object) -> Errors:
    """What is wrong with a value, by dotted field; the value itself is never repeated, as it may be a secret."""
    found: Errors = {}
    for error in validator(version, definition).iter_errors(value):
        for field, message in _said(error):
            messages = found.setdefault(field, [])
            # Each branch of an allOf reports the same fault.
            if message not in messages:
                messages.append(message)
    return {field: [BLANK] if BLANK in messages else messages for field, messages in found.items()}


def _said(error: ValidationError) -> Iterator[tuple[str, str]]:
    """The fields that an error is about, each with its phrase."""
    path = [str(step) for step in error.absolute_path]
    if error.validator == "required":
        for name in error.validator_value:
            if name not in error.instance:
                yield ".".join([*path, name]), BLANK
        return
    yield ".".join(path) or "base", _phrase(error)


def _phrase(error: ValidationError) -> str:
    if error.instance in (None, "", [], {}):
        return BLANK
    if error.validator in {"enum", "const"}:
        return NOT_IN_LIST
    if error.validator == "maxLength":
        return too_long(error.validator_value)
    return INVALID
