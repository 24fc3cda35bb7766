"""Writes the manifest of a backup, and checks a backup against its manifest."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from apps.core.exceptions import DomainError

MANIFEST_NAME = "manifest.json"
_FORMAT = 1


class BackupRefused(DomainError):
    """Raised when a backup cannot be created or restored."""

    def __init__(self, sentence: str) -> None:
        """Create the error with a message for the operator."""
        super().__init__({"base": [sentence]})


@dataclass(frozen=True, slots=True)
class FileDigest:
    """The size and the SHA-256 digest of a file in a backup."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The source and the contents of a backup.

    Attributes:
        created_at: The start of the database copy (RFC 3339).
        vendor: ``postgresql`` or ``sqlite``.
        migrations: The last migration of each app, which identifies the release.
        tables: The number of rows in each table.
        files: The number of files in ``files.tar``.
        parts: The size and digest of each file in the backup, keyed by file name.
    """

    created_at: str
    vendor: str
    migrations: dict[str, str]
    tables: dict[str, int]
    files: int
    parts: dict[str, FileDigest]

    @property
    def rows(self) -> int:
        """Return the total number of rows in all tables."""
        return sum(self.tables.values())


def write_manifest(folder: Path, manifest: Manifest) -> None:
    (folder / MANIFEST_NAME).write_text(json.dumps({"format": _FORMAT, **asdict(manifest)}, indent=1) + "\n")


def describe_files(folder: Path) -> dict[str, FileDigest]:
    """Return the size and digest of each file in a directory."""
    return {path.name: _describe_file(path) for path in sorted(folder.iterdir())}


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
    except (ValueError, TypeError, KeyError, AttributeError):
        raise BackupRefused(f"Cannot read {folder / MANIFEST_NAME}.") from None
    for name, part in manifest.parts.items():
        path = folder / name
        if Path(name).name != name or not path.is_file():
            raise BackupRefused(f"{path} is missing.")
        if _describe_file(path) != part:
            raise BackupRefused(f"{path} is damaged: it differs from the manifest.")
    return manifest


def _describe_file(path: Path) -> FileDigest:
    with path.open("rb") as file:
        return FileDigest(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())
