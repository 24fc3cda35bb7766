"""Packs all files of the installation, from a directory or a bucket, into an archive, and unpacks the archive."""

import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from django.core.files import File
from django.core.files.storage import default_storage

from apps.backups.domain.manifests import BackupRefused


def pack_files(path: Path) -> int:
    """Pack all files into an archive, and return the number of files. Files deleted during the run are skipped."""
    number = 0
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for name in _iterate_names(""):
            try:
                with default_storage.open(name) as file:
                    entry = tarfile.TarInfo(name)
                    entry.size = file.size
                    archive.addfile(entry, file)
            except FileNotFoundError:
                continue
            number += 1
    return number


def unpack_files(path: Path) -> int:
    """Unpack an archive into the empty storage, and return the number of files.

    Raises:
        BackupRefused: The storage is not empty, the storage changed a file name, or the archive contains an unsafe
            path.
    """
    if next(_iterate_names(""), None) is not None:
        raise BackupRefused("The file storage is not empty. Restore into an empty storage.")
    number = 0
    with tarfile.open(path, "r") as archive:
        for entry in archive:
            name = PurePosixPath(entry.name)
            if not entry.isreg() or name.is_absolute() or ".." in name.parts:
                raise BackupRefused(f"The archive contains an unexpected file: {entry.name!r}.")
            content = archive.extractfile(entry)
            assert content is not None
            stored_name = default_storage.save(entry.name, File(content))
            if stored_name != entry.name:
                raise BackupRefused(f"{entry.name} was stored as {stored_name}.")
            number += 1
    return number


def _iterate_names(folder: str) -> Iterator[str]:
    try:
        folders, names = default_storage.listdir(folder)
    except FileNotFoundError:
        return
    for name in sorted(names):
        if name:
            yield f"{folder}/{name}" if folder else name
    for below in sorted(folders):
        yield from _iterate_names(f"{folder}/{below}" if folder else below)
