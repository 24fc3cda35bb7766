"""What stood in a file before: on disk, beside a cache of its own that has a bound."""

import sqlite3
from types import TracebackType
from typing import Self

# KiB of pages that are held in memory.
CACHE = 8 * 1024


class Seen:
    """Keys of objects in a file: of each by what that object is known first, and its line.

    A private database of SQLite in a file without a name, which goes when it is closed.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
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
        """Closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Forget all."""
        self._keys.close()

    def add(self, kind: str, key: str, first: str = "", line: int = 0) -> bool:
        """Note a key, unless it is noted already; returns whether it was new."""
        row = (kind, key, first, line)
        return self._keys.execute("INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?)", row).rowcount > 0

    def find(self, kind: str, key: str) -> tuple[str, int] | None:
        """By what the object with a key is known first, and its line; None where there is none."""
        query = "SELECT first, line FROM seen WHERE kind = ? AND key = ?"
        found: tuple[str, int] | None = self._keys.execute(query, (kind, key)).fetchone()
        return found
