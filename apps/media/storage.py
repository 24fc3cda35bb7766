"""Files in storage: written whole, read if they are there.

There are two storages, folders by default or a bucket by ``STORAGE_URL``: ``default``, in which a name is used once,
and ``contents``, in which a name is the digest of its file.
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

from apps.ground.errors import DomainError

logger = logging.getLogger(__name__)

# What a folder and a bucket raise where they cannot do what they are asked for.
FAILURES = (OSError, BotoCoreError, ClientError)
_RETRY_SECONDS = 5.0


class StorageFailed(DomainError):
    """The file storage does not answer, is full, or has lost a file. It is noted in the log."""

    code = "storage_failed"
    status = 503


@contextmanager
def reporting(name: str, done: str) -> Iterator[None]:
    """Note what goes wrong with a file, and give it the shape that every face understands.

    Args:
        name: Of the file; it says whose it is.
        done: What is tried, as a participle.

    Raises:
        StorageFailed: It went wrong.
    """
    try:
        yield
    except FAILURES as error:
        logger.error("File %s could not be %s: %s", name, done, error)
        # What the system calls it names no path; what a bucket's client says names the bucket.
        reason = f": {error.strerror}" if isinstance(error, OSError) and error.strerror else ""
        raise StorageFailed(f"The file could not be {done}{reason}", retry_after=_RETRY_SECONDS) from error


class WholeFiles(FileSystemStorage):
    """A folder in which a file is there completely or not at all, whoever reads it or is killed meanwhile."""

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


class ContentFolder(FileSystemStorage):
    """A folder in which a file is there completely or not at all.

    Names are digests of the content, so two writers of one name write the same bytes: both may work in one partial
    file, and it does not matter whose rename comes last.
    """

    def save(self, name: str | None, content: Any, max_length: int | None = None) -> str:
        """Write a file, also over itself. The name is of our own making, so it is neither checked nor changed."""
        return self._save(str(name), content)

    def _save(self, name: str, content: File[bytes]) -> str:
        path = os.path.join(self.location, name)  # noqa: PTH118 - paths of strings take half the time
        partial = _partial(path)
        try:
            with os.fdopen(_opened(partial), "wb") as file:
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
        """Remove the file, and what a killed writer left of it."""
        for path in (_partial(self.path(name)), self.path(name)):
            try:
                os.unlink(path)  # noqa: PTH108
            except FileNotFoundError:
                continue


def _opened(path: str) -> int:
    """A file to write into; not truncated, as another writer's bytes are the same ones."""
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        return os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)


def _partial(path: str) -> str:
    return f"{path}.part"


def content_storage() -> Storage:
    """The storage of file contents, whose names are digests."""
    return storages["contents"]


def read_file(storage: Storage, place: str) -> bytes | None:
    """The bytes of a file; None where there is none."""
    with suppress(FileNotFoundError), storage.open(place) as file:
        data: bytes = file.read()
        return data
    return None


def names_in(storage: Storage, folder: str) -> list[str]:
    """The names of the files in a folder; none where there is no such folder."""
    try:
        return storage.listdir(folder)[1]
    except FileNotFoundError:
        return []


def folders_in(storage: Storage, folder: str) -> list[str]:
    """The names of the folders in a folder; none where there is no such folder."""
    try:
        return storage.listdir(folder)[0]
    except FileNotFoundError:
        return []
