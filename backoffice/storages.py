"""File storages out of ``STORAGE_URL``: a local folder, or a bucket of an S3-compatible service."""

from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import brotli
from django.core.exceptions import ImproperlyConfigured
from whitenoise.compress import Compressor
from whitenoise.storage import CompressedManifestStaticFilesStorage

_OPTIONS = {"endpoint_url": "endpoint_url", "region": "region_name", "addressing_style": "addressing_style"}


def file_storages(url: str, folder: Path) -> dict[str, dict[str, object]]:
    """The settings of the storages ``default`` and ``contents``; in the latter a name is the digest of its file.

    Args:
        url: Empty for a local folder, or ``s3://KEY:SECRET@BUCKET/PREFIX?endpoint_url=…&region=…``; without key and
            secret the machine's own credentials are used.
        folder: The local folder.

    Raises:
        ImproperlyConfigured: The URL is none of these.
    """
    if not url:
        local = {"location": str(folder)}
        return {
            "default": {"BACKEND": "apps.media.storage.WholeFiles", "OPTIONS": local},
            "contents": {"BACKEND": "apps.media.storage.ContentFolder", "OPTIONS": local},
        }
    parts = urlsplit(url)
    given = dict(parse_qsl(parts.query))
    if parts.scheme != "s3" or not parts.hostname or given.keys() - _OPTIONS.keys():
        raise ImproperlyConfigured("STORAGE_URL must be s3://KEY:SECRET@BUCKET/PREFIX?endpoint_url=…&region=…")
    options: dict[str, object] = {
        "bucket_name": parts.hostname,
        "location": parts.path.strip("/"),
        "default_acl": None,
        "querystring_auth": True,
        **{_OPTIONS[name]: value for name, value in given.items()},
    }
    if parts.username and parts.password:
        options |= {"access_key": unquote(parts.username), "secret_key": unquote(parts.password)}
    backend = "storages.backends.s3.S3Storage"
    return {
        "default": {"BACKEND": backend, "OPTIONS": {**options, "file_overwrite": False}},
        "contents": {"BACKEND": backend, "OPTIONS": {**options, "file_overwrite": True}},
    }


class QuickCompressor(Compressor):
    """Compresses in seconds."""

    @staticmethod
    def compress_brotli(data: bytes) -> bytes:
        """Brotli, not at its slowest."""
        return brotli.compress(data, quality=7)


class StaticFiles(CompressedManifestStaticFilesStorage):
    """Collected files under names that hold the digest of their content, compressed; as they lie until collected."""

    def create_compressor(self, **options: object) -> Compressor:
        """Brotli at a tenth of the work, for a twentieth more bytes: it is done at a start."""
        return QuickCompressor(**options)

    def stored_name(self, name: str) -> str:
        """The name under which a file is served."""
        stored: str = super().stored_name(name) if self.hashed_files else name
        return stored
