"""Full-text index for customer searches on SQLite. PostgreSQL has trigram indexes instead.

The index is an FTS5 table over columns of the customers table, maintained by triggers. On SQLite, a migration that
rebuilds the customers table drops the triggers, so missing triggers are created after every ``migrate``. If SQLite was
built without FTS5, searches scan the table.
"""

from unicodedata import ucd_3_2_0 as _unicode

from django.db import OperationalError, connection, connections
from django.db.backends.utils import CursorWrapper
from django.db.models import Q
from django.db.models.expressions import RawSQL

from apps.customers.models import SEARCH_COLUMNS
from apps.jobs.domain.queue import enqueue
from apps.jobs.models import Job

TABLE = "customers_search"
_COLUMNS = SEARCH_COLUMNS
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

CLEAR_TASK = "customers.shred"
MERGE_PAGES = 500

_present: dict[str, bool] = {}


class WriteAheadLogBusy(Exception):
    """Raised when the write-ahead log cannot be emptied because a reader is using it."""


def create_search_index(using: str = "default", **_: object) -> None:
    """Create the index and its triggers if they are missing, and fill the index. Called after each ``migrate``."""
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


def drop_search_index(using: str = "default") -> None:
    """Drop the index and its triggers before a migration of the indexed columns.

    ``create_search_index`` re-creates both.
    """
    database = connections[using]
    if database.vendor != "sqlite":
        return
    with database.cursor() as cursor:
        for name in _TRIGGERS:
            cursor.execute(f"DROP TRIGGER IF EXISTS {TABLE}_{name}")
        cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")
    _present.pop(using, None)


def enqueue_clearing(*, actor: str) -> None:
    """Enqueue a job that clears erased text from SQLite's files. On PostgreSQL, autovacuum clears erased text."""
    if connection.vendor == "sqlite":
        enqueue(CLEAR_TASK, actor=actor)


def clear_erased_text(job: Job, **_: object) -> None:
    """Merge the index until no segment contains deleted words, then empty the write-ahead log.

    Freed pages are overwritten by ``PRAGMA secure_delete``. Each step is a short transaction.

    Raises:
        WriteAheadLogBusy: A reader is using the log. The job is retried.
    """
    with connection.cursor() as cursor:
        if _exists():
            # A negative page count starts a merge of all segments. The merge is complete when a step changes fewer than
            # two rows.
            previous = -2
            pages = -MERGE_PAGES
            while (current := _changed_so_far(cursor)) - previous >= 2:
                previous = current
                cursor.execute(f"INSERT INTO {TABLE}({TABLE}, rank) VALUES ('merge', %s)", [pages])  # noqa: S608
                pages = MERGE_PAGES
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (busy, *_counts) = cursor.fetchone()
    if busy:
        raise WriteAheadLogBusy("The write-ahead log is in use")


def _changed_so_far(cursor: CursorWrapper) -> int:
    cursor.execute("SELECT total_changes()")
    changed: int = cursor.fetchone()[0]
    return changed


def narrow_by_index(text: str, column: str) -> Q:
    """Return a condition that matches at least the rows in which a word of a column begins with ``text``.

    Without an index, the condition matches every row. The index may split text into words differently than the exact
    conditions do. It still finds every match, because every match starts at the beginning of a word.
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
    """Return True if the index can find the text. Non-ASCII characters must be letters or digits.

    The index uses older Unicode tables, which may treat other characters differently, such as emoji, combining marks
    and newer scripts.
    """
    return any(character.isalnum() for character in text) and all(
        character.isascii() or _unicode.category(character) in {"Lu", "Ll", "Lo", "Nd"} for character in text
    )
