import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from cryptography.fernet import InvalidToken
from django.core.exceptions import ValidationError

from apps.backups.domain.manifests import BackupRefused, FileDigest, check_parts, digest_file

T = TypeVar("T")

FORMAT = 1
# The errors that JSON with wrong, missing or deeply nested values raises.
_INVALID = (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError)
MANIFEST, IDENTITY, FILES = "manifest.json", "archive.json", "files.jsonl.gz"


@dataclass(slots=True)
class TableInfo:
    """Describes a table in the archive: the columns, the number of rows, and the lowest and highest ID."""

    columns: list[str]
    rows: int = 0
    lowest: int | None = None
    highest: int | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of an archive.

    Attributes:
        made_at: The time of the snapshot (RFC 3339).
        sealed: A string that the source installation encrypted. The import decrypts the string to check that the
            importing installation has the key.
        migrations: The last migration of each app.
        files: The number of the shop's files.
        bytes: The total size of the shop's files.
        parts: The parts of the archive, keyed by path.
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
        return sum(table.rows for table in self.tables.values())


def _check_types(manifest: Manifest) -> None:
    """Raise ``TypeError`` or ``ValueError`` if a value in a manifest does not have its type."""
    texts = (manifest.domain, manifest.handle, manifest.sealed, *manifest.migrations.values())
    numbers: list[object] = [manifest.shop_id, manifest.files, manifest.bytes]
    numbers += [table.rows for table in manifest.tables.values()]
    numbers += [bound for table in manifest.tables.values() for bound in (table.lowest, table.highest) if table.rows]
    if not all(isinstance(text, str) for text in texts) or not all(isinstance(number, int) for number in numbers):
        raise TypeError
    datetime.fromisoformat(manifest.made_at)


def get_table_path(table: str) -> str:
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
            with suppress(*_INVALID):
                if json.loads(identity_path.read_text()) != identity:
                    raise BackupRefused(f"{self.folder} is the archive of another shop.")
        elif self.folder.exists() and any(self.folder.iterdir()):
            raise BackupRefused(f"{self.folder} already exists and is not an archive of this shop.")
        manifest = self.folder / MANIFEST
        if manifest.exists() and not refresh:
            raise BackupRefused(
                f"{self.folder} already contains a finished archive. Use --refresh to update the archive."
            )
        (self.folder / "tables").mkdir(parents=True, exist_ok=True)
        (self.folder / "files").mkdir(exist_ok=True)
        identity_path.write_text(json.dumps(identity) + "\n")
        manifest.unlink(missing_ok=True)

    def write(self, name: str, lines: Iterable[bytes]) -> FileDigest:
        """Write lines into a compressed part, and return its size and digest."""
        path = self.folder / name
        with gzip.GzipFile(path, "wb", compresslevel=1, mtime=0) as file:
            file.writelines(lines)
        return digest_file(path)

    def read(self, name: str, parse: Callable[[bytes], T]) -> Iterator[T]:
        """Yield the parsed lines of a compressed part.

        Raises:
            BackupRefused: The part is damaged.
        """
        try:
            with gzip.open(self.folder / name, "rb") as file:
                for line in file:
                    yield parse(line)
        except (*_INVALID, OSError, EOFError, zlib.error, InvalidToken, ValidationError) as error:
            raise BackupRefused(f"Cannot read {self.folder / name} ({type(error).__name__}).") from None

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
            _check_types(manifest)
        except FileNotFoundError:
            if (self.folder / IDENTITY).exists():
                raise BackupRefused(f"{self.folder} is unfinished: run the export again to resume.") from None
            raise BackupRefused(f"{self.folder} is not an archive: {MANIFEST} is missing.") from None
        except (*_INVALID, OSError):
            raise BackupRefused(f"Cannot read {self.folder / MANIFEST}.") from None
        check_parts(self.folder, manifest.parts)
        return manifest
