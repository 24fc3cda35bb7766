"""The files of one shop: out of its folders in the storage, and into those of another."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from django.core.files.base import File
from django.core.files.storage import Storage, default_storage

from apps.backups.domain.manifests import BackupRefused, Part
from apps.backups.domain.moving.archives import FILES, Archive, Manifest, part
from apps.exchange.models import EXPORTS, IMPORTS
from apps.media.storage import content_storage, folders_in, names_in


def folders_of(shop_id: int) -> tuple[str, ...]:
    """Where its files lie; smaller versions of pictures are made anew where they are asked for."""
    return (f"shops/{shop_id}/content", f"images/{shop_id}", f"{EXPORTS}/{shop_id}", f"{IMPORTS}/{shop_id}")


class Copying:
    """Bringing files into an archive, each once."""

    def __init__(self, archive: Archive, shop_id: int) -> None:
        self._archive = archive
        self._shop_id = shop_id
        self._parts: dict[str, Part] = {}

    def copy(self) -> None:
        """Copy what is in the storage and not yet here; what goes meanwhile is left out."""
        for name in files_of(self._shop_id):
            if name in self._parts:
                continue
            path = self._archive.folder / "files" / name
            if not path.exists() and not _fetched(name, path):
                continue
            self._parts[name] = part(path)

    def finish(self) -> tuple[Part, int, int]:
        """List them; returns the list's part, how many there are, and their bytes. What is gone elsewhere goes here."""
        root = self._archive.folder / "files"
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.relative_to(root).as_posix() not in self._parts:
                path.unlink()
        lines = (
            json.dumps({"name": name, "size": one.size, "sha256": one.sha256}).encode() + b"\n"
            for name, one in sorted(self._parts.items())
        )
        return self._archive.write(FILES, lines), len(self._parts), sum(one.size for one in self._parts.values())


def _fetched(name: str, path: Path) -> bool:
    """Copy one file, whole or not at all; returns whether it was there."""
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


def put(archive: Archive, manifest: Manifest) -> int:
    """Put the archive's files into the storage; returns how many were not there yet.

    Raises:
        BackupRefused: A file of the archive is missing or damaged, or another one lies in its place.
    """
    put_now = 0
    for name, one in listed(archive, manifest):
        path = archive.folder / "files" / name
        if not path.is_file() or part(path) != one:
            raise BackupRefused(f"{path} is missing or damaged.")
        if default_storage.exists(name):
            continue
        with path.open("rb") as content:
            kept = _storage_of(name).save(name, File(content))
        if kept != name:
            raise BackupRefused(f"{name} was stored as {kept}.")
        put_now += 1
    return put_now


def differing(archive: Archive, manifest: Manifest) -> Iterator[str]:
    """Files that are in the archive and not, or not as there, in the storage, and the other way round."""
    known = set()
    for name, one in listed(archive, manifest):
        known.add(name)
        if not default_storage.exists(name):
            yield f"{name} is missing"
        elif _stored(name) != one:
            yield f"{name} is another file"
    yield from (f"{name} is not in the archive" for name in files_of(manifest.shop_id) if name not in known)


def listed(archive: Archive, manifest: Manifest) -> Iterator[tuple[str, Part]]:
    """The archive's files.

    Raises:
        BackupRefused: One lies in no folder of the shop.
    """
    below = tuple(f"{folder}/" for folder in folders_of(manifest.shop_id))
    for line in archive.read(FILES):
        said = json.loads(line)
        name = said["name"]
        if not name.startswith(below) or ".." in PurePosixPath(name).parts:
            raise BackupRefused(f"The archive holds {name!r}, which is no file of the shop.")
        yield name, Part(said["size"], said["sha256"])


def files_of(shop_id: int) -> Iterator[str]:
    """The names of a shop's files in the storage."""
    for folder in folders_of(shop_id):
        yield from _below(folder)


def _below(folder: str) -> Iterator[str]:
    yield from (f"{folder}/{name}" for name in sorted(names_in(default_storage, folder)) if not name.endswith(".part"))
    for name in sorted(folders_in(default_storage, folder)):
        if name and name != "sizes":
            yield from _below(f"{folder}/{name}")


def _storage_of(name: str) -> Storage:
    return content_storage() if name.startswith("shops/") else default_storage


def _stored(name: str) -> Part:
    digest, size = hashlib.sha256(), 0
    with default_storage.open(name) as file:
        for chunk in file.chunks():
            digest.update(chunk)
            size += len(chunk)
    return Part(size, digest.hexdigest())
