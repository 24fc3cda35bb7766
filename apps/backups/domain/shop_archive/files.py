"""Copies the files of a shop from the storage into an archive, and from an archive into another storage."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from django.core.files.base import File
from django.core.files.storage import default_storage

from apps.backups.domain.manifests import BackupRefused, FileDigest, digest_file
from apps.backups.domain.shop_archive.format import FILES, Archive, Manifest
from apps.core.media.storage import get_content_storage, list_files, list_folders
from apps.imports_exports.models import EXPORTS, IMPORTS


def get_shop_folders(shop_id: int) -> tuple[str, ...]:
    """Return the folders of a shop's files. Resized images are excluded, because they are generated on request."""
    return (f"shops/{shop_id}/content", f"images/{shop_id}", f"{EXPORTS}/{shop_id}", f"{IMPORTS}/{shop_id}")


class FileCopier:
    """Copies the files of a shop into an archive. Each file is copied only once."""

    def __init__(self, archive: Archive, shop_id: int) -> None:
        self._archive = archive
        self._shop_id = shop_id
        self._parts: dict[str, FileDigest] = {}

    def copy(self) -> None:
        """Copy the files that are missing from the archive. Files deleted during the run are skipped."""
        for name in list_shop_files(self._shop_id):
            if name in self._parts:
                continue
            path = self._archive.folder / "files" / name
            if path.exists() or _copy_from_storage(name, path):
                self._parts[name] = digest_file(path)

    def finish(self) -> tuple[FileDigest, int, int]:
        """Write the list of files, and return its digest, the number of files and their total size.

        Files that the storage no longer contains are deleted from the archive.
        """
        root = self._archive.folder / "files"
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.relative_to(root).as_posix() not in self._parts:
                path.unlink()
        lines = (
            json.dumps({"name": name, "size": file_part.size, "sha256": file_part.sha256}).encode() + b"\n"
            for name, file_part in sorted(self._parts.items())
        )
        size = sum(file_part.size for file_part in self._parts.values())
        return self._archive.write(FILES, lines), len(self._parts), size


def _copy_from_storage(name: str, path: Path) -> bool:
    """Copy a file atomically. Return False if the file does not exist."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.part")
    try:
        with default_storage.open(name) as source, unfinished.open("wb") as target:
            shutil.copyfileobj(source, target)
    except FileNotFoundError:
        unfinished.unlink(missing_ok=True)
        return False
    unfinished.replace(path)
    return True


def import_files(archive: Archive, manifest: Manifest) -> int:
    """Copy the archive's files into the storage, and return the number of new files.

    Raises:
        BackupRefused: A file of the archive is missing or damaged, or the storage has a different file with the same
            name.
    """
    new_count = 0
    for name, expected in list_archived_files(archive, manifest):
        path = archive.folder / "files" / name
        if not path.is_file() or digest_file(path) != expected:
            raise BackupRefused(f"{path} is missing or damaged.")
        if default_storage.exists(name):
            continue
        storage = get_content_storage() if name.startswith("shops/") else default_storage
        with path.open("rb") as content:
            stored_name = storage.save(name, File(content))
        if stored_name != name:
            raise BackupRefused(f"{name} was stored as {stored_name}.")
        new_count += 1
    return new_count


def compare_files(archive: Archive, manifest: Manifest) -> Iterator[str]:
    """Yield the differences between the files in the archive and in the storage."""
    archived_names = set()
    for name, expected in list_archived_files(archive, manifest):
        archived_names.add(name)
        if not default_storage.exists(name):
            yield f"{name} is missing"
        elif _digest_stored(name) != expected:
            yield f"{name} differs"
    yield from (
        f"{name} is not in the archive" for name in list_shop_files(manifest.shop_id) if name not in archived_names
    )


def list_archived_files(archive: Archive, manifest: Manifest) -> Iterator[tuple[str, FileDigest]]:
    """Yield the name and digest of each file in the archive.

    Raises:
        BackupRefused: A file is outside the shop's folders.
    """
    prefixes = tuple(f"{folder}/" for folder in get_shop_folders(manifest.shop_id))
    for name, digest in archive.read(FILES, _parse_file):
        if not name.startswith(prefixes) or ".." in PurePosixPath(name).parts:
            raise BackupRefused(f"The archive contains {name!r}, which is not in the shop's folders.")
        yield name, digest


def _parse_file(line: bytes) -> tuple[str, FileDigest]:
    entry = json.loads(line)
    return str(entry["name"]), FileDigest(entry["size"], entry["sha256"])


def list_shop_files(shop_id: int) -> Iterator[str]:
    for folder in get_shop_folders(shop_id):
        yield from _iterate_below(folder)


def _iterate_below(folder: str) -> Iterator[str]:
    names = sorted(list_files(default_storage, folder))
    yield from (f"{folder}/{name}" for name in names if not name.endswith(".part"))
    for name in sorted(list_folders(default_storage, folder)):
        if name and name != "sizes":
            yield from _iterate_below(f"{folder}/{name}")


def _digest_stored(name: str) -> FileDigest:
    digest, size = hashlib.sha256(), 0
    with default_storage.open(name) as file:
        for chunk in file.chunks():
            digest.update(chunk)
            size += len(chunk)
    return FileDigest(size, digest.hexdigest())
