"""Reads and writes the parts of an archive and its manifest."""

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from apps.backups.domain.manifests import BackupRefused, FileDigest

FORMAT = 1
MANIFEST, IDENTITY, FILES = "manifest.json", "archive.json", "files.jsonl.gz"


@dataclass(frozen=True, slots=True)
class TableInfo:
    """Describes a table in the archive: the columns, the number of rows, and the lowest and highest ID."""

    columns: list[str]
    rows: int
    lowest: int | None
    highest: int | None


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of an archive.

    Attributes:
        made_at: The time of the snapshot (RFC 3339).
        sealed: A known string, encrypted with the key of the source installation. The import decrypts the string to
            check that the importing installation has this key.
        migrations: The last migration of each app.
        tables: Information about each table, keyed by name.
        files: The number of the shop's files.
        bytes: The total size of the shop's files.
        parts: The size and digest of each part, keyed by path in the archive.
    """

    made_at: str
    shop_id: int
    domain: str
    handle: str
    sealed: str
    migrations: dict[str, str]
    tables: dict[str, TableInfo]
    files: int
    bytes: int
    parts: dict[str, FileDigest]

    @property
    def rows(self) -> int:
        """Return the total number of rows in all tables."""
        return sum(table.rows for table in self.tables.values())


def get_current_migrations() -> dict[str, str]:
    """Return the last migration of each app."""
    return dict(sorted(MigrationRecorder(connection).applied_migrations()))


def get_table_path(table: str) -> str:
    """Return the path of the part that contains a table's rows."""
    return f"tables/{table}.jsonl.gz"


class Archive:
    """The directory that contains the archive of a shop."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def create_directory(self, shop_id: int, domain: str, *, refresh: bool) -> None:
        """Create the directory, or reuse it to continue an interrupted export.

        Raises:
            BackupRefused: The directory has other contents, or has a finished archive and ``refresh`` is false.
        """
        identity_path = self.folder / IDENTITY
        identity = {"format": FORMAT, "shop_id": shop_id, "domain": domain}
        if identity_path.exists():
            with suppress(ValueError):
                if json.loads(identity_path.read_text()) != identity:
                    raise BackupRefused(f"{self.folder} is the archive of another shop.")
        elif self.folder.exists() and any(self.folder.iterdir()):
            raise BackupRefused(f"{self.folder} already exists and is not an archive of this shop.")
        manifest_path = self.folder / MANIFEST
        if manifest_path.exists() and not refresh:
            raise BackupRefused(
                f"{self.folder} already contains a finished archive. Use --refresh to update the archive."
            )
        (self.folder / "tables").mkdir(parents=True, exist_ok=True)
        (self.folder / "files").mkdir(exist_ok=True)
        identity_path.write_text(json.dumps(identity) + "\n")
        manifest_path.unlink(missing_ok=True)

    def write(self, name: str, lines: Iterable[bytes]) -> FileDigest:
        """Write lines into a compressed part, and return its size and digest."""
        path = self.folder / name
        with gzip.GzipFile(path, "wb", compresslevel=1, mtime=0) as file:
            for line in lines:
                file.write(line)
        return digest_file(path)

    def read(self, name: str) -> Iterator[bytes]:
        """Yield the lines of a compressed part."""
        with gzip.open(self.folder / name, "rb") as file:
            yield from file

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest, which completes the archive."""
        unfinished = self.folder / f"{MANIFEST}.part"
        unfinished.write_text(json.dumps({"format": FORMAT, **asdict(manifest)}, indent=1) + "\n")
        unfinished.replace(self.folder / MANIFEST)

    def read_manifest(self) -> Manifest:
        """Read the manifest, and check all parts. The shop's files are only checked when they are copied.

        Raises:
            BackupRefused: The directory is not an archive, the archive is unfinished, or a part is missing or damaged.
        """
        try:
            data: dict[str, Any] = json.loads((self.folder / MANIFEST).read_text())
            if data.pop("format") != FORMAT:
                raise BackupRefused(f"{self.folder} was created by another release. Import it with that release.")
            parts = {name: FileDigest(**expected) for name, expected in data.pop("parts").items()}
            tables = {name: TableInfo(**expected) for name, expected in data.pop("tables").items()}
            manifest = Manifest(**data, tables=tables, parts=parts)
        except FileNotFoundError:
            is_unfinished = (self.folder / IDENTITY).exists()
            problem = (
                "is unfinished: run the export again to resume"
                if is_unfinished
                else f"is not an archive: {MANIFEST} is missing"
            )
            raise BackupRefused(f"{self.folder} {problem}.") from None
        except (ValueError, TypeError, KeyError, AttributeError):
            raise BackupRefused(f"Cannot read {self.folder / MANIFEST}.") from None
        for name, expected in manifest.parts.items():
            path = self.folder / name
            if not path.is_file():
                raise BackupRefused(f"{path} is missing.")
            if digest_file(path) != expected:
                raise BackupRefused(f"{path} is damaged: it differs from the manifest.")
        return manifest


def digest_file(path: Path) -> FileDigest:
    """Return the size and digest of a file."""
    with path.open("rb") as file:
        return FileDigest(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())
