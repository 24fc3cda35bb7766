"""The published documents of the payment handler: JSON schemas and specifications. Published documents never change.

The files are in ``documents/`` under the paths of their URLs. The documents contain a placeholder for the host, which
is replaced by ``settings.SCHEMAS_URL`` when a document is served. Each version has a separate directory.
"""

from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path

from django.conf import settings

from apps.core.types import Errors
from apps.payments.models.payment_handlers import HANDLER_NAME

PLACEHOLDER = "https://schemas.platform.example"
BUSINESS = f"{HANDLER_NAME}/business_schema"
RESPONSE = f"{HANDLER_NAME}/response_schema"
INSTRUMENT = f"{HANDLER_NAME}/payment_instrument"
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


def group_messages(findings: Iterable[tuple[str, str]]) -> Errors:
    errors: Errors = {}
    for field, message in findings:
        messages = errors.setdefault(field, [])
        # Several branches of an allOf can report the same error.
        if message not in messages:
            messages.append(message)
    return errors
