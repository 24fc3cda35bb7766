"""The published documents of the payment handler: JSON schemas and specifications. Published documents never change.

The files are in ``documents/`` under the paths of their URLs. The documents contain a placeholder for the host, which
is replaced by ``settings.SCHEMAS_URL`` when a document is served. Each version has a separate directory.
"""

from functools import cache, lru_cache
from pathlib import Path

from django.conf import settings

PLACEHOLDER = "https://schemas.platform.example"
_FOLDER = Path(__file__).parent / "documents"
_HANDLER, _BASE = "wallet-pay", "checkout"
_MEDIA_TYPES = {".json": "application/schema+json", ".md": "text/markdown; charset=utf-8"}


@cache
def get_schema_versions() -> tuple[str, ...]:
    """Return the published versions of the handler's schema, newest first."""
    return tuple(sorted((folder.name for folder in (_FOLDER / _HANDLER).iterdir()), reverse=True))


@cache
def load_documents() -> dict[str, bytes]:
    """Return a dict of all documents, keyed by path. Documents contain the placeholder for the host."""
    files = (path for path in sorted(_FOLDER.rglob("*")) if path.suffix in _MEDIA_TYPES)
    return {path.relative_to(_FOLDER).as_posix(): path.read_bytes() for path in files}


@lru_cache(maxsize=64)
def render_document(path: str, address: str) -> bytes:
    """Return a document, with the placeholder for the host replaced by ``address``.

    Raises:
        KeyError: There is no document at this path.
    """
    return load_documents()[path].replace(PLACEHOLDER.encode(), address.encode())


def get_schema_path(version: str) -> str:
    """Return the path of the handler's schema for a version."""
    return f"{_HANDLER}/{version}/schema.json"


def get_base_schema_path(version: str) -> str:
    """Return the path of the schema that the handler's schema extends."""
    return f"{_BASE}/{version}/payment_handler.json"


def get_schema_url(version: str) -> str:
    """Return the public URL of the handler's schema."""
    return f"{settings.SCHEMAS_URL}/{get_schema_path(version)}"


def get_spec_url(version: str) -> str:
    """Return the public URL of the handler's specification."""
    return f"{settings.SCHEMAS_URL}/{_HANDLER}/{version}/spec.md"


def get_media_type(path: str) -> str:
    """Return the media type of a document."""
    return _MEDIA_TYPES[Path(path).suffix]
