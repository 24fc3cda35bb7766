"""The storages of static files, and of other files for ``STORAGE_URL``: a local folder or an S3-compatible bucket."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import brotli
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.files.base import ContentFile
from whitenoise.compress import Compressor
from whitenoise.storage import CompressedManifestStaticFilesStorage

from backoffice.configuration.private_files import FILE_MODE, FOLDER_MODE

_OPTIONS = {"endpoint_url": "endpoint_url", "region": "region_name", "addressing_style": "addressing_style"}


def get_storage_settings(url: str, folder: Path) -> dict[str, dict[str, object]]:
    """Return the settings for the storages ``default`` and ``contents``. ``contents`` names files by their digest.

    ``url`` is "" for a local folder, or ``s3://KEY:SECRET@BUCKET/PREFIX?endpoint_url=…&region=…``. Without a key and
    secret, the machine's own credentials are used.
    """
    if not url:
        modes = {"file_permissions_mode": FILE_MODE, "directory_permissions_mode": FOLDER_MODE}
        local = {"location": str(folder), **modes}
        return {
            "default": {"BACKEND": "apps.core.media.storage.AtomicFileStorage", "OPTIONS": local},
            "contents": {"BACKEND": "apps.core.media.storage.ContentFileStorage", "OPTIONS": local},
        }
    parts = urlsplit(url)
    parameters = dict(parse_qsl(parts.query))
    if parts.scheme != "s3" or not parts.hostname or parameters.keys() - _OPTIONS.keys():
        raise ImproperlyConfigured("STORAGE_URL must be s3://KEY:SECRET@BUCKET/PREFIX?endpoint_url=…&region=…")
    options: dict[str, object] = {
        "bucket_name": parts.hostname,
        "location": parts.path.strip("/"),
        "default_acl": None,
        "querystring_auth": True,
        **{_OPTIONS[name]: value for name, value in parameters.items()},
    }
    if parts.username and parts.password:
        options |= {"access_key": unquote(parts.username), "secret_key": unquote(parts.password)}
    backend = "storages.backends.s3.S3Storage"
    return {
        "default": {"BACKEND": backend, "OPTIONS": {**options, "file_overwrite": False}},
        "contents": {"BACKEND": backend, "OPTIONS": {**options, "file_overwrite": True}},
    }


class QuickCompressor(Compressor):
    """A compressor that compresses all files in seconds instead of minutes."""

    @staticmethod
    def compress_brotli(data: bytes) -> bytes:
        return brotli.compress(data, quality=7)


class StaticFilesStorage(CompressedManifestStaticFilesStorage):
    """Compressed static files with hashed names. Before ``collectstatic``, files are served from their sources."""

    def post_process(self, paths: dict[str, Any], dry_run: bool = False, **options: Any) -> Iterator[Any]:
        """Combine the panel's styles and scripts before the files get their hashed names."""
        if not dry_run:
            for name, parts in settings.STATIC_BUNDLES.items():
                # A line break ends a comment in a script's last line, and a semicolon ends its last statement.
                separator = b"\n;" if name.endswith(".js") else b"\n"
                content = separator.join(self._read_source(paths, part) for part in parts)
                self.delete(name)
                paths[name] = (self, self.save(name, ContentFile(content)))
        yield from super().post_process(paths, dry_run=dry_run, **options)

    @staticmethod
    def _read_source(paths: dict[str, Any], name: str) -> bytes:
        storage, path = paths[name]
        with storage.open(path) as file:
            return bytes(file.read())

    def create_compressor(self, **options: object) -> Compressor:
        """Return the quick compressor. The files are five percent larger, but compression is ten times faster."""
        return QuickCompressor(**options)

    def stored_name(self, name: str) -> str:
        return str(super().stored_name(name)) if self.hashed_files else name
