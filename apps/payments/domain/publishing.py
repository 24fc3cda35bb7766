"""The published documents of the payment handler: JSON schemas whose bytes never change once they are out.

They lie in ``documents/`` under the paths at which they are served. Their host is a placeholder there, which gives way
to the address of this installation (``settings.SCHEMAS_URL``) where they are served. A new version is a new folder.
Rule: spec part B, Payment handler schema.
"""

from functools import cache, lru_cache
from pathlib import Path

from django.conf import settings

PLACEHOLDER = "https://schemas.platform.example"
_FOLDER = Path(__file__).parent / "documents"
_HANDLER, _BASE = "wallet-pay", "checkout"
_MEDIA_TYPES = {".json": "application/schema+json", ".md": "text/markdown; charset=utf-8"}


@cache
def versions() -> tuple[str, ...]:
    """The versions of the handler that are published, newest first."""
    return tuple(sorted((folder.name for folder in (_FOLDER / _HANDLER).iterdir()), reverse=True))


@cache
def documents() -> dict[str, bytes]:
    """Every document by its path, with the placeholder for the host."""
    files = (path for path in sorted(_FOLDER.rglob("*")) if path.suffix in _MEDIA_TYPES)
    return {path.relative_to(_FOLDER).as_posix(): path.read_bytes() for path in files}


@lru_cache(maxsize=64)
def served(path: str, address: str) -> bytes:
    """A document as it is served below an address.

    Raises:
        KeyError: There is none at this path.
    """
    return documents()[path].replace(PLACEHOLDER.encode(), address.encode())


def schema_path(version: str) -> str:
    """Where the handler's schema of a version lies."""
    return f"{_HANDLER}/{version}/schema.json"


def base_path(version: str) -> str:
    """Where the schema lies that the handler's extends."""
    return f"{_BASE}/{version}/payment_handler.json"


def schema_url(version: str) -> str:
    """The public address of the handler's schema."""
    return f"{settings.SCHEMAS_URL}/{schema_path(version)}"


def spec_url(version: str) -> str:
    """The public address of the handler's description for people."""
    return f"{settings.SCHEMAS_URL}/{_HANDLER}/{version}/spec.md"


def media_type(path: str) -> str:
    """What a document is served as."""
    return _MEDIA_TYPES[Path(path).suffix]
