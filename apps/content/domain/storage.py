"""Where file contents lie: the storage called ``contents``, a folder by default or a bucket by ``STORAGE_URL``."""

import os
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from django.core.files.base import File
from django.core.files.storage import FileSystemStorage, Storage, storages

# What a folder and a bucket raise where they cannot do what they are asked for.
FAILURES = (OSError, BotoCoreError, ClientError)


def content_storage() -> Storage:
    """The storage of file contents, whose names are digests."""
    return storages["contents"]


class ContentFolder(FileSystemStorage):
    """A folder in which a file is there completely or not at all.

    Names are digests of the content, so two writers of one name write the same bytes: both may work in one partial
    file, and it does not matter whose rename comes last.
    """

    def save(self, name: str | None, content: Any, max_length: int | None = None) -> str:
        """Write a file, also over itself. The name is of our own making, so it is neither checked nor changed."""
        return self._save(str(name), content)

    def _save(self, name: str, content: File[Any]) -> str:
        path = os.path.join(self.location, name)  # noqa: PTH118 - paths of strings take half the time
        partial = _partial(path)
        with os.fdopen(_opened(partial), "wb") as file:
            for chunk in content.chunks():
                file.write(chunk)
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
