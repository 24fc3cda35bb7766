"""An index of the objects in a file on disk, so that its size does not matter."""

import sqlite3

PRAGMAS = (
    "PRAGMA cache_size = -8192",  # KiB
    "PRAGMA journal_mode = OFF",
    "PRAGMA synchronous = OFF",
)


def open_private_database(*statements: str) -> sqlite3.Connection:
    """Open a private SQLite database in an unnamed temporary file, which is deleted on close."""
    database = sqlite3.connect("", isolation_level=None)
    for statement in (*PRAGMAS, *statements, "BEGIN"):
        database.execute(statement)
    return database


class DuplicateIndex:
    """An index of the objects in a file, with lookup by key. Each entry has the object's first key and line."""

    def __init__(self) -> None:
        self._keys = open_private_database(
            "CREATE TABLE seen (kind TEXT, key TEXT, first TEXT, line INTEGER, PRIMARY KEY (kind, key)) WITHOUT ROWID"
        )

    def close(self) -> None:
        self._keys.close()

    def add(self, kind: str, key: str, first: str = "", line: int = 0) -> bool:
        """Add a key and return True if it is new."""
        row = (kind, key, first, line)
        return self._keys.execute("INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?)", row).rowcount > 0

    def find(self, kind: str, key: str) -> tuple[str, int] | None:
        """Return the first key and the line of the object with a key, or None if the key is unknown."""
        query = "SELECT first, line FROM seen WHERE kind = ? AND key = ?"
        return self._keys.execute(query, (kind, key)).fetchone()
