"""Access to the storages for uploaded and generated files.

There are two storages: ``default``, which never reuses a name, and ``contents``, which names each file by its digest.
Both store files in local folders, or in a bucket if ``STORAGE_URL`` is set.
"""

import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from django.core.files.base import File
from django.core.files.storage import FileSystemStorage, Storage, storages

from apps.core.exceptions import DomainError

logger = logging.getLogger(__name__)

# Errors that folder and bucket storages raise.
FAILURES = (OSError, BotoCoreError, ClientError)
_RETRY_SECONDS = 5.0


class StorageFailed(DomainError):
    """Raised when the file storage is unavailable or full, or has lost a file. The error is logged."""

    status = 503


@contextmanager
def convert_storage_errors(name: str, action: str) -> Iterator[None]:
    """Log storage errors and convert them to ``StorageFailed``. The action is a past participle, such as "stored"."""
    try:
        yield
    except FAILURES as error:
        logger.error("File %s could not be %s: %s", name, action, error)
        # Show only the ``strerror`` of an OSError, which contains no path. Errors of bucket clients contain the bucket
        # name.
        reason = f": {error.strerror}" if isinstance(error, OSError) and error.strerror else ""
        raise StorageFailed(f"The file could not be {action}{reason}", retry_after=_RETRY_SECONDS) from error


class AtomicFileStorage(FileSystemStorage):
    """A folder storage with atomic writes. Readers never see partial files, even if the writer is killed."""

    def _save(self, name: str, content: File[bytes]) -> str:
        folder = name.rpartition("/")[0]
        partial = f"{folder}/{secrets.token_hex(8)}.part".lstrip("/")
        try:
            super()._save(partial, content)  # type: ignore[misc]
            Path(self.path(partial)).replace(self.path(name))
        except BaseException:
            self.delete(partial)
            raise
        return name


class ContentFileStorage(FileSystemStorage):
    """A folder storage with atomic writes for files that are named by their digest.

    Concurrent writers of the same name write the same bytes, so they may share a partial file and rename it in any
    order.
    """

    def save(self, name: str | None, content: Any, max_length: int | None = None) -> str:
        """Write or overwrite a file. Names are digests, so they need no validation and no alternative name."""
        return self._save(str(name), content)

    def _save(self, name: str, content: File[bytes]) -> str:
        path = os.path.join(self.location, name)  # noqa: PTH118 - paths of strings take half the time
        partial = _get_partial_path(path)
        try:
            with os.fdopen(_open_for_writing(partial), "wb") as file:
                for chunk in content.chunks():
                    file.write(chunk)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(partial)  # noqa: PTH108
            raise
        try:
            os.replace(partial, path)  # noqa: PTH105
        except FileNotFoundError:
            if not os.path.exists(path):  # noqa: PTH110
                raise
        return name

    def delete(self, name: str) -> None:
        """Delete the file, and any partial file that a killed writer left behind."""
        for path in (_get_partial_path(self.path(name)), self.path(name)):
            with suppress(FileNotFoundError):
                os.unlink(path)  # noqa: PTH108


def _open_for_writing(path: str) -> int:
    """Open a file for writing, but do not truncate the file, because another writer may be writing the same bytes."""
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)  # noqa: PTH103, PTH120
        return os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)


def _get_partial_path(path: str) -> str:
    return f"{path}.part"


def get_content_storage() -> Storage:
    """Return the storage for file contents, in which each file is named by its digest."""
    return storages["contents"]


def read_file(storage: Storage, path: str) -> bytes | None:
    """Return the bytes of a file, or None if it does not exist."""
    with suppress(FileNotFoundError), storage.open(path) as file:
        return file.read()
    return None


def list_files(storage: Storage, folder: str) -> list[str]:
    """Return the names of the files in a folder, or an empty list if the folder does not exist."""
    return _list_folder(storage, folder)[1]


def list_folders(storage: Storage, folder: str) -> list[str]:
    """Return the names of the folders in a folder, or an empty list if the folder does not exist."""
    return _list_folder(storage, folder)[0]


def _list_folder(storage: Storage, folder: str) -> tuple[list[str], list[str]]:
    try:
        return storage.listdir(folder)
    except FileNotFoundError:
        return [], []
