"""Find duplicate objects within a file. The keys are stored on disk, with a small cache in memory."""

import sqlite3
from types import TracebackType
from typing import Self

# Size of the page cache in KiB.
CACHE = 8 * 1024


class DuplicateIndex:
    """An index of the objects in a file, with lookup by key. Each entry has the object's first key and line.

    The index is a private SQLite database in an unnamed temporary file, which is deleted on close.
    """

    def __init__(self) -> None:
        self._keys = sqlite3.connect("", isolation_level=None)
        for statement in (
            f"PRAGMA cache_size = -{CACHE}",
            "PRAGMA journal_mode = OFF",
            "PRAGMA synchronous = OFF",
            "CREATE TABLE seen (kind TEXT, key TEXT, first TEXT, line INTEGER, PRIMARY KEY (kind, key)) WITHOUT ROWID",
            "BEGIN",
        ):
            self._keys.execute(statement)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._keys.close()

    def add(self, kind: str, key: str, first: str = "", line: int = 0) -> bool:
        """Add a key and return True if it is new."""
        row = (kind, key, first, line)
        return self._keys.execute("INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?)", row).rowcount > 0

    def find(self, kind: str, key: str) -> tuple[str, int] | None:
        """Return the first key and the line of the object with a key, or None if the key is unknown."""
        query = "SELECT first, line FROM seen WHERE kind = ? AND key = ?"
        row: tuple[str, int] | None = self._keys.execute(query, (kind, key)).fetchone()
        return row
