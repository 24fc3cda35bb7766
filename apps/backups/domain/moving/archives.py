"""The archive's folder: its parts, written and read as streams, and its manifest."""

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

from apps.backups.domain.manifests import BackupRefused, Part

FORMAT = 1
MANIFEST, BEGUN, FILES = "manifest.json", "archive.json", "files.jsonl.gz"


@dataclass(frozen=True, slots=True)
class Stored:
    """A table in the archive: its columns, how many rows, and their lowest and highest ids."""

    columns: list[str]
    rows: int
    lowest: int | None
    highest: int | None


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an archive holds.

    Attributes:
        made_at: When its moment was (RFC 3339).
        sealed: A word, encrypted with the key of the installation that it comes from.
        migrations: The last one of each app that keeps rows of shops.
        tables: By name of the table.
        files: How many files, and ``bytes`` of them all.
        parts: By name below the archive's folder.
    """

    made_at: str
    shop_id: int
    domain: str
    handle: str
    sealed: str
    migrations: dict[str, str]
    tables: dict[str, Stored]
    files: int
    bytes: int
    parts: dict[str, Part]

    @property
    def rows(self) -> int:
        """Of all tables."""
        return sum(table.rows for table in self.tables.values())


def migrations_now() -> dict[str, str]:
    """The last migration of each app of ours."""
    return dict(sorted(MigrationRecorder(connection).applied_migrations()))


def part_of_table(table: str) -> str:
    """Where its rows lie."""
    return f"tables/{table}.jsonl.gz"


class Archive:
    """An archive in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, shop_id: int, domain: str, *, refresh: bool) -> None:
        """Make the folder, or go on in one that broke off.

        Raises:
            BackupRefused: Something else is there, or a finished archive that is not to be brought up to date.
        """
        begun = self.folder / BEGUN
        said = {"format": FORMAT, "shop_id": shop_id, "domain": domain}
        if begun.exists():
            with suppress(ValueError):
                if json.loads(begun.read_text()) != said:
                    raise BackupRefused(f"{self.folder} is the archive of another shop.")
        elif self.folder.exists() and any(self.folder.iterdir()):
            raise BackupRefused(f"{self.folder} is there already, and is no archive of this shop.")
        finished = self.folder / MANIFEST
        if finished.exists() and not refresh:
            raise BackupRefused(f"{self.folder} is finished. Bring it up to date with --refresh.")
        (self.folder / "tables").mkdir(parents=True, exist_ok=True)
        (self.folder / "files").mkdir(exist_ok=True)
        begun.write_text(json.dumps(said) + "\n")
        finished.unlink(missing_ok=True)

    def write(self, name: str, lines: Iterable[bytes]) -> Part:
        """Write lines into a part; returns its size and digest."""
        path = self.folder / name
        with gzip.GzipFile(path, "wb", compresslevel=1, mtime=0) as file:
            for line in lines:
                file.write(line)
        return part(path)

    def read(self, name: str) -> Iterator[bytes]:
        """The lines of a part."""
        with gzip.open(self.folder / name, "rb") as file:
            yield from file

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest, by which the archive is whole."""
        unfinished = self.folder / f"{MANIFEST}.part"
        unfinished.write_text(json.dumps({"format": FORMAT, **asdict(manifest)}, indent=1) + "\n")
        unfinished.replace(self.folder / MANIFEST)

    def manifest(self) -> Manifest:
        """The manifest of an archive whose parts are as it says; files are looked at where they are copied.

        Raises:
            BackupRefused: It is none, is unfinished, or a part is missing or damaged.
        """
        try:
            said: dict[str, Any] = json.loads((self.folder / MANIFEST).read_text())
            if said.pop("format") != FORMAT:
                raise BackupRefused(f"{self.folder} was made by another release; import it with that one.")
            parts = {name: Part(**one) for name, one in said.pop("parts").items()}
            tables = {name: Stored(**one) for name, one in said.pop("tables").items()}
            manifest = Manifest(**said, tables=tables, parts=parts)
        except FileNotFoundError:
            is_begun = (self.folder / BEGUN).exists()
            why = "is unfinished: export again to go on" if is_begun else f"is no archive: it has no {MANIFEST}"
            raise BackupRefused(f"{self.folder} {why}.") from None
        except (ValueError, TypeError, KeyError, AttributeError):
            raise BackupRefused(f"{self.folder / MANIFEST} cannot be read.") from None
        for name, one in manifest.parts.items():
            path = self.folder / name
            if not path.is_file():
                raise BackupRefused(f"{path} is missing.")
            if part(path) != one:
                raise BackupRefused(f"{path} is damaged: its bytes are not those of the export.")
        return manifest


def part(path: Path) -> Part:
    """Size and digest of a file."""
    with path.open("rb") as file:
        return Part(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())
