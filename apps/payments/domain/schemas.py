"""The published documents of the payment handler: JSON schemas and specifications. Published documents never change.

The files are in ``documents/`` under the paths of their URLs. The documents contain a placeholder for the host, which
is replaced by ``settings.SCHEMAS_URL`` when a document is served. Each version has a separate directory. Values are
validated against the files, without network access, and with the formats of ``FORMATS`` only.
"""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError as NotValid
from django.core.validators import validate_email
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from referencing import Registry
from referencing.jsonschema import DRAFT202012, SchemaRegistry

from apps.core.i18n.error_messages import BLANK, INVALID, NOT_IN_LIST, too_long
from apps.core.types import Errors
from apps.payments.models.payment_handlers import HANDLER_NAME

PLACEHOLDER = "https://schemas.platform.example"
BUSINESS = f"{HANDLER_NAME}/business_schema"
RESPONSE = f"{HANDLER_NAME}/response_schema"
INSTRUMENT = f"{HANDLER_NAME}/payment_instrument"
FORMATS = FormatChecker(formats=())
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?:[!#$&-;=?-Z\[\]_a-z~]|%[0-9A-Fa-f]{2})+")
_FOLDER = Path(__file__).parent / "documents"
_HANDLER = "wallet-pay"
_MEDIA_TYPES = {".json": "application/schema+json", ".md": "text/markdown; charset=utf-8"}


@cache
def get_schema_versions() -> tuple[str, ...]:
    """Return the published versions of the handler's schema, newest first."""
    return tuple(sorted((folder.name for folder in (_FOLDER / _HANDLER).iterdir()), reverse=True))


@cache
def load_documents() -> dict[str, bytes]:
    """Return all documents by path, with the placeholder for the host."""
    files = (path for path in sorted(_FOLDER.rglob("*")) if path.suffix in _MEDIA_TYPES)
    return {path.relative_to(_FOLDER).as_posix(): path.read_bytes() for path in files}


@lru_cache(maxsize=64)
def render_document(path: str, address: str) -> bytes:
    """Return a document for a host. Raise ``KeyError`` if there is none at this path."""
    return load_documents()[path].replace(PLACEHOLDER.encode(), address.encode())


def get_schema_path(version: str) -> str:
    return f"{_HANDLER}/{version}/schema.json"


def get_schema_url(version: str) -> str:
    return f"{settings.SCHEMAS_URL}/{get_schema_path(version)}"


def get_spec_url(version: str) -> str:
    return f"{settings.SCHEMAS_URL}/{_HANDLER}/{version}/spec.md"


def get_media_type(path: str) -> str:
    return _MEDIA_TYPES[Path(path).suffix]


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


def group_messages(findings: Iterable[tuple[str, str]]) -> Errors:
    errors: Errors = {}
    for field, message in findings:
        messages = errors.setdefault(field, [])
        # Several branches of an allOf can report the same error.
        if message not in messages:
            messages.append(message)
    return errors


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
