"""What a backup says of itself, and whether it is true."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from apps.ground.errors import DomainError

NAME = "manifest.json"
_FORMAT = 1


class BackupRefused(DomainError):
    """The backup cannot be made, or not be restored."""

    def __init__(self, sentence: str) -> None:
        """One sentence, for the operator."""
        super().__init__({"base": [sentence]})


@dataclass(frozen=True, slots=True)
class Part:
    """A file of the backup: bytes, and their SHA-256."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup is of, and what it holds.

    Attributes:
        made_at: When the copy of the database began (RFC 3339).
        vendor: ``postgresql`` or ``sqlite``.
        migrations: The last one of each app, by which a release is known.
        tables: The number of rows of each table.
        files: How many files ``files.tar`` holds.
        parts: The files of the backup.
    """

    made_at: str
    vendor: str
    migrations: dict[str, str]
    tables: dict[str, int]
    files: int
    parts: dict[str, Part]

    @property
    def rows(self) -> int:
        """Of all tables."""
        return sum(self.tables.values())


def write(folder: Path, manifest: Manifest) -> None:
    """Put it beside the parts that it describes."""
    (folder / NAME).write_text(json.dumps({"format": _FORMAT, **asdict(manifest)}, indent=1) + "\n")


def parts_of(folder: Path) -> dict[str, Part]:
    """Size and digest of each file that lies in a folder."""
    return {path.name: _part(path) for path in sorted(folder.iterdir())}


def read(folder: Path) -> Manifest:
    """The manifest of a backup whose parts are as it says.

    Raises:
        BackupRefused: It is none, or a part is missing or damaged.
    """
    try:
        said = json.loads((folder / NAME).read_text())
        if said.pop("format") != _FORMAT:
            raise BackupRefused(f"{folder} was made by another release; restore it with that one.")
        parts = {name: Part(**part) for name, part in said.pop("parts").items()}
        manifest = Manifest(**said, parts=parts)
    except FileNotFoundError:
        raise BackupRefused(f"{folder} is no backup: it has no {NAME}.") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise BackupRefused(f"{folder / NAME} cannot be read.") from None
    for name, part in manifest.parts.items():
        path = folder / name
        if Path(name).name != name or not path.is_file():
            raise BackupRefused(f"{path} is missing.")
        if _part(path) != part:
            raise BackupRefused(f"{path} is damaged: its bytes are not those of the backup.")
    return manifest


def _part(path: Path) -> Part:
    with path.open("rb") as file:
        return Part(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())
