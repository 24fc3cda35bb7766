"""The full-text index that narrows searches on SQLite; PostgreSQL has trigram indexes instead.

The index is an FTS5 table over columns of the customers' table, kept true by triggers. Rebuilding that table, as a
migration on SQLite may do, drops the triggers; so they are made (again) after every ``migrate``. Where SQLite was built
without FTS5, searches read the table.
"""

from unicodedata import ucd_3_2_0 as _unicode

from django.db import OperationalError, connection, connections
from django.db.backends.utils import CursorWrapper
from django.db.models import Q
from django.db.models.expressions import RawSQL

from apps.customers.models import SEARCHED
from apps.jobs.domain.queue import enqueue
from apps.jobs.models import Job

TABLE = "customers_search"
_COLUMNS = SEARCHED
_NEW = ", ".join(f"new.{column}" for column in _COLUMNS)
_OLD = ", ".join(f"old.{column}" for column in _COLUMNS)
_LIST = ", ".join(_COLUMNS)
_FORGET = f"INSERT INTO {TABLE}({TABLE}, rowid, {_LIST}) VALUES ('delete', old.id, {_OLD});"  # noqa: S608 - names of our own
_NOTE = f"INSERT INTO {TABLE}(rowid, {_LIST}) VALUES (new.id, {_NEW});"  # noqa: S608
_TRIGGERS = {
    "insert": f"AFTER INSERT ON customers_customer BEGIN {_NOTE} END",
    "update": f"AFTER UPDATE OF {_LIST} ON customers_customer BEGIN {_FORGET} {_NOTE} END",
    "delete": f"AFTER DELETE ON customers_customer BEGIN {_FORGET} END",
}
_QUERY = f"SELECT rowid FROM {TABLE} WHERE {TABLE} MATCH %s"  # noqa: S608 - names of our own

SHRED = "customers.shred"
MERGED_AT_ONCE = 500

_present: dict[str, bool] = {}


class LogInUse(Exception):
    """The write-ahead log cannot be emptied now."""


def ensure(using: str = "default", **_: object) -> None:
    """Make the table and its triggers where they are missing, and fill the table; a receiver of ``post_migrate``."""
    database = connections[using]
    if database.vendor != "sqlite" or "customers_customer" not in database.introspection.table_names():
        return
    with database.cursor() as cursor:
        try:
            cursor.execute(
                f"CREATE VIRTUAL TABLE IF NOT EXISTS {TABLE} USING fts5({_LIST},"
                f" content='customers_customer', content_rowid='id', prefix='2 3')"
            )
        except OperationalError as error:
            if "no such module" not in str(error):
                raise
            return
        cursor.execute("SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'customers_search_%%'")
        if cursor.fetchone()[0] < len(_TRIGGERS):
            for name, body in _TRIGGERS.items():
                cursor.execute(f"CREATE TRIGGER IF NOT EXISTS {TABLE}_{name} {body}")
            cursor.execute(f"INSERT INTO {TABLE}({TABLE}) VALUES ('rebuild')")  # noqa: S608
    _present.pop(using, None)


def remove(using: str = "default") -> None:
    """Drop the table and its triggers, for a migration that changes what it stands on; ``ensure`` makes them again."""
    database = connections[using]
    if database.vendor != "sqlite":
        return
    with database.cursor() as cursor:
        for name in _TRIGGERS:
            cursor.execute(f"DROP TRIGGER IF EXISTS {TABLE}_{name}")
        cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")
    _present.pop(using, None)


def shred(*, actor: str) -> None:
    """Have a worker clear what an erasure leaves behind in SQLite's files; PostgreSQL's autovacuum does so alone."""
    if connection.vendor == "sqlite":
        enqueue(SHRED, actor=actor)


def clear_traces(job: Job, **_: object) -> None:
    """Merge the index until no segment holds a word that is gone, and empty the write-ahead log.

    Freed pages need no more: ``PRAGMA secure_delete`` overwrites them. Each step is a short transaction.

    Raises:
        LogInUse: A reader needs the log; the job comes again.
    """
    with connection.cursor() as cursor:
        if _exists():
            # A negative number begins to merge everything into one segment; nothing is left to do where it changes
            # fewer than two rows.
            before = -2
            pages = -MERGED_AT_ONCE
            while (after := _changed_so_far(cursor)) - before >= 2:
                before = after
                cursor.execute(f"INSERT INTO {TABLE}({TABLE}, rank) VALUES ('merge', %s)", [pages])  # noqa: S608
                pages = MERGED_AT_ONCE
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (busy, *_counts) = cursor.fetchone()
    if busy:
        raise LogInUse("The write-ahead log is in use")


def _changed_so_far(cursor: CursorWrapper) -> int:
    cursor.execute("SELECT total_changes()")
    changed: int = cursor.fetchone()[0]
    return changed


def narrowed(text: str, column: str) -> Q:
    """A superset of the rows that have words beginning with this text in a column; everything where no index serves.

    The index cuts text into words at other places than the exact conditions do, but never inside of what they match:
    both begin at the beginning of a word.
    """
    if connection.vendor != "sqlite" or not _exists() or not _has_word(text):
        return Q()
    phrase = text.replace('"', '""')
    return Q(pk__in=RawSQL(_QUERY, (f'{column} : "{phrase}" *',)))  # noqa: S611 - the argument is bound


def _exists() -> bool:
    alias = connection.alias
    if alias not in _present:
        _present[alias] = TABLE in connection.introspection.table_names()
    return _present[alias]


def _has_word(text: str) -> bool:
    """Whether the index would find a word in the text: all characters are letters, digits or plain punctuation.

    Others (emoji, lone marks, scripts added to Unicode since) may be cut differently by the index's older tables.
    """
    return any(character.isalnum() for character in text) and all(
        character.isascii() or _unicode.category(character) in {"Lu", "Ll", "Lo", "Nd"} for character in text
    )
