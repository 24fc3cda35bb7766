"""All files of the installation as one archive, from a folder or a bucket, and back."""

import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from django.core.files import File
from django.core.files.storage import default_storage

from apps.backups.domain.manifests import BackupRefused


def pack(path: Path) -> int:
    """Put every file into an archive; returns how many. What is deleted while this runs is left out."""
    number = 0
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for name in _names(""):
            try:
                with default_storage.open(name) as file:
                    entry = tarfile.TarInfo(name)
                    entry.size = file.size
                    archive.addfile(entry, file)
            except FileNotFoundError:
                continue
            number += 1
    return number


def unpack(path: Path) -> int:
    """Put every file of an archive into the empty storage; returns how many.

    Raises:
        BackupRefused: The storage is not empty, or does not keep a name.
    """
    if next(_names(""), None) is not None:
        raise BackupRefused("The file storage is not empty. Restore into a new one.")
    number = 0
    with tarfile.open(path, "r") as archive:
        for entry in archive:
            name = PurePosixPath(entry.name)
            if not entry.isreg() or name.is_absolute() or ".." in name.parts:
                raise BackupRefused(f"The archive holds {entry.name!r}, which is no file of ours.")
            content = archive.extractfile(entry)
            assert content is not None
            kept = default_storage.save(entry.name, File(content))
            if kept != entry.name:
                raise BackupRefused(f"{entry.name} was stored as {kept}.")
            number += 1
    return number


def _names(folder: str) -> Iterator[str]:
    """Each file below a folder of the storage."""
    try:
        folders, names = default_storage.listdir(folder)
    except FileNotFoundError:
        return
    for name in sorted(names):
        if name:
            yield f"{folder}/{name}" if folder else name
    for below in sorted(folders):
        yield from _names(f"{folder}/{below}" if folder else below)
