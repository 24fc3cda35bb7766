"""Files in storage: written whole, read if they are there."""

import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage, Storage


class WholeFiles(FileSystemStorage):
    """A folder in which a file is there completely or not at all, whoever reads it or is killed meanwhile."""

    def _save(self, name: str, content: File[Any]) -> str:
        folder = name.rpartition("/")[0]
        partial: str = super()._save(f"{folder}/{secrets.token_hex(8)}.part".lstrip("/"), content)  # type: ignore[misc]
        try:
            Path(self.path(partial)).replace(self.path(name))
        except BaseException:
            self.delete(partial)
            raise
        return name


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
