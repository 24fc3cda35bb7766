import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from apps.core.exceptions import DomainError

MANIFEST_NAME = "manifest.json"
_FORMAT = 1


class BackupRefused(DomainError):
    """Raised with a message for the operator when a backup or archive cannot be created or restored."""


@dataclass(frozen=True, slots=True)
class FileDigest:
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a backup.

    Attributes:
        created_at: The start of the database copy (RFC 3339).
        vendor: ``postgresql`` or ``sqlite``.
        migrations: The last migration of each app, which identifies the release.
        tables: The number of rows, keyed by table.
        files: The number of files in ``files.tar``.
        parts: The files of the backup, keyed by file name.
    """

    created_at: str
    vendor: str
    migrations: dict[str, str]
    tables: dict[str, int]
    files: int
    parts: dict[str, FileDigest]

    @property
    def rows(self) -> int:
        return sum(self.tables.values())


def write_manifest(folder: Path, manifest: Manifest) -> None:
    (folder / MANIFEST_NAME).write_text(json.dumps({"format": _FORMAT, **asdict(manifest)}, indent=1) + "\n")


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a backup, and check the files of the backup.

    Raises:
        BackupRefused: The directory is not a backup, or a file is missing or damaged.
    """
    try:
        data = json.loads((folder / MANIFEST_NAME).read_text())
        if data.pop("format") != _FORMAT:
            raise BackupRefused(f"{folder} was created by another release. Restore it with that release.")
        parts = {name: FileDigest(**part) for name, part in data.pop("parts").items()}
        manifest = Manifest(**data, parts=parts)
    except FileNotFoundError:
        raise BackupRefused(f"{folder} is not a backup: {MANIFEST_NAME} is missing.") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OSError):
        raise BackupRefused(f"Cannot read {folder / MANIFEST_NAME}.") from None
    check_parts(folder, manifest.parts)
    return manifest


def check_parts(folder: Path, parts: Mapping[str, FileDigest]) -> None:
    for name, part in parts.items():
        path = folder / name
        if not path.is_file() or Path(name).is_absolute() or ".." in Path(name).parts:
            raise BackupRefused(f"{path} is missing.")
        if digest_file(path) != part:
            raise BackupRefused(f"{path} is damaged: it differs from the manifest.")


def get_current_migrations() -> dict[str, str]:
    """Return the last migration of each app, which overwrites the earlier ones because they are sorted by name."""
    return dict(sorted(MigrationRecorder(connection).applied_migrations()))


def digest_file(path: Path) -> FileDigest:
    with path.open("rb") as file:
        return FileDigest(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())
