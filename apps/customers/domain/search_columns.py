"""Build and locate the search columns of customers: folded text with a mark before each word.

``search_text`` contains the text for search words without a field name (email, phone, name, companies), with a space
before each word. ``search_own`` contains the customer's fields, and ``search_places`` contains the address fields. In
these two columns, the mark of the field comes before each word. A column is at most twice as long as the values that it
contains.

One ``LIKE '%<mark>beginning%'`` therefore finds a field's words by their beginning on both databases. On PostgreSQL,
the columns are in the narrow ``CustomerWords`` table with trigram indexes. On SQLite, they are in the customers table,
and a full-text index (FTS5) narrows the rows first. Triggers maintain this index. A migration that rebuilds the
customers table drops the triggers, so missing triggers are created after every ``migrate``. If SQLite was built without
FTS5, searches scan the table.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from operator import attrgetter
from unicodedata import ucd_3_2_0 as _unicode

from django.db import OperationalError, connection, connections, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import Q
from django.db.models.expressions import RawSQL

from apps.core.jobs.models import Job
from apps.core.jobs.queue import enqueue
from apps.customers.domain.contact_normalization import get_national_number
from apps.customers.domain.fields import IDENTIFYING_FIELDS, MARKS, FieldMark
from apps.customers.models import SEARCH_COLUMNS, Address, Customer


def get_search_relation() -> str:
    return "words" if connection.vendor == "postgresql" else ""


def match_column(column: str, pattern: str) -> Q:
    return Q(**{f"{_get_lookup(column)}__contains": pattern})


def match_customer(pk: int) -> Q:
    """Return the condition for one customer, which makes queries read only the table with the search columns."""
    return Q(**{_get_lookup("of_id" if get_search_relation() else "pk"): pk})


def _get_lookup(column: str) -> str:
    return f"{get_search_relation()}__{column}" if get_search_relation() else column


END_MARK = "\x0f"
_STARTS = re.compile(r" |(?<=[^\w ])(?=\w)|(?<=_)(?=[^\W_])")
_CONTROLS = dict.fromkeys((*range(9), *range(14, 28), 127))

AddressTexts = Mapping[str, str]
ADDRESS_COLUMNS = ("company", "city", "province", "zip", "country_code")
# In these columns, every word is marked. A tag is only marked as a whole.
_WORD_MARKS = {name: mark for name, mark in MARKS.items() if name != "tags"}
_get_marked_texts = attrgetter(*_WORD_MARKS)
# The identifying columns that ``build_search_text`` adds as they are.
_OTHER_NAMES = tuple(name for name in IDENTIFYING_FIELDS if name not in {"first_name", "last_name", "email", "phone"})


def fold_text(text: str) -> str:
    """Return the case-folded text without accents, control characters and repeated spaces."""
    if not text.isascii():
        without_accents = "".join(
            character for character in unicodedata.normalize("NFKD", text) if not unicodedata.combining(character)
        )
        # Case folding can produce composed characters, which must be decomposed.
        text = unicodedata.normalize("NFKD", without_accents.casefold())
    return " ".join(text.lower().translate(_CONTROLS).split())


def mark_words(text: str, mark: str = " ") -> str:
    """Return the folded text with a mark before each word. The mark replaces the space."""
    folded = fold_text(text)
    return mark + _STARTS.sub(mark, folded) if folded else ""


def _entries(texts: Iterable[tuple[str, str]]) -> str:
    """Return the marked strings without duplicates, joined and each followed by an end mark."""
    entries = dict.fromkeys([mark_words(text, mark) for text, mark in texts if text])
    return "".join([f"{entry}{END_MARK}" for entry in entries if entry])


def mark_whole_text(text: str, label: FieldMark) -> str:
    """Return a marked string that matches only from the beginning: the label, the folded text and an end mark."""
    folded = fold_text(text)
    return f"{label}{folded}{END_MARK}" if folded else ""


def build_search_text(customer: Customer, companies: Iterable[str] = ()) -> str:
    """Return the text for search words without a field name, with the most identifying values first."""
    phone = customer.phone
    texts = (
        customer.email,
        phone,
        get_national_number(phone),
        f"{customer.first_name} {customer.last_name}",
        *(getattr(customer, name) for name in _OTHER_NAMES),
        *companies,
    )
    return _entries(zip(texts, repeat(" ")))


def build_own_text(customer: Customer) -> str:
    entries = _entries(zip(_get_marked_texts(customer), _WORD_MARKS.values(), strict=True))
    tags = customer.tags.split(", ") if customer.tags else []
    return entries + "".join([mark_whole_text(tag, FieldMark.TAG) for tag in tags])


def build_address_text(addresses: Sequence[AddressTexts]) -> str:
    # Lists, because a generator would cost a function call for each element.
    entries = _entries(
        [
            (address.get(name) or "", label)
            for address in addresses
            for name, label in (
                ("city", FieldMark.CITY),
                ("province", FieldMark.PROVINCE),
                ("company", FieldMark.COMPANY),
            )
        ]
    )
    whole_entries = [
        mark_whole_text(address.get(name) or "", label)
        for address in addresses
        for name, label in (("zip", FieldMark.ZIP), ("country_code", FieldMark.COUNTRY))
    ]
    return entries + "".join(dict.fromkeys(whole_entries))


def rebuild_search_columns(customer: Customer, addresses: Sequence[AddressTexts]) -> None:
    customer.search_text = build_search_text(
        customer, [address["company"] for address in addresses if address.get("company")]
    )
    customer.search_own = build_own_text(customer)
    customer.search_places = build_address_text(addresses)


def get_address_texts(customer: Customer, excluded_ids: Iterable[int] = ()) -> list[AddressTexts]:
    rows = Address.objects.filter(customer=customer).exclude(pk__in=list(excluded_ids))
    return list(rows.order_by("pk").values(*ADDRESS_COLUMNS))


TABLE = "customers_search"
_NEW = ", ".join(f"new.{column}" for column in SEARCH_COLUMNS)
_OLD = ", ".join(f"old.{column}" for column in SEARCH_COLUMNS)
_LIST = ", ".join(SEARCH_COLUMNS)
_FORGET = f"INSERT INTO {TABLE}({TABLE}, rowid, {_LIST}) VALUES ('delete', old.id, {_OLD});"  # noqa: S608 - names of our own
_NOTE = f"INSERT INTO {TABLE}(rowid, {_LIST}) VALUES (new.id, {_NEW});"  # noqa: S608
_TRIGGERS = {
    "insert": f"AFTER INSERT ON customers_customer BEGIN {_NOTE} END",
    "update": f"AFTER UPDATE OF {_LIST} ON customers_customer BEGIN {_FORGET} {_NOTE} END",
    "delete": f"AFTER DELETE ON customers_customer BEGIN {_FORGET} END",
}
_OLDER_TRIGGERS = f"""
SELECT name, sql FROM sqlite_master
WHERE type = 'trigger' AND tbl_name = 'customers_customer' AND name NOT LIKE '{TABLE}_%'
    AND rowid < (SELECT max(rowid) FROM sqlite_master WHERE type = 'trigger' AND name LIKE '{TABLE}_%')
ORDER BY rowid
"""  # noqa: S608 - names of our own
_QUERY = f"SELECT rowid FROM {TABLE} WHERE {TABLE} MATCH %s"  # noqa: S608 - names of our own

CLEAR_TASK = "customers.clear_erased_text"
MERGE_PAGES = 500

_present: dict[str, bool] = {}


class WriteAheadLogBusy(Exception):
    pass


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
    move_search_triggers_first(using)
    _present.pop(using, None)


def move_search_triggers_first(using: str = "default", **_: object) -> None:
    """Recreate the older triggers of the customers table, so that the triggers of the index come first.

    SQLite compiles the newest trigger first. Before version 3.48, the first INSERT after a schema change by another
    process fails with "no such table" if the connection must open the index again and another trigger is compiled after
    that. Called before each ``migrate``, because the processes of the last release keep running. Recreating triggers is
    a schema change, too, but it only affects connections that have never used the index.
    """
    database = connections[using]
    if database.vendor != "sqlite":
        return
    with transaction.atomic(using=using), database.cursor() as cursor:
        cursor.execute(_OLDER_TRIGGERS)
        for name, statement in cursor.fetchall():
            cursor.execute(f"DROP TRIGGER {name}")
            cursor.execute(statement)


def enqueue_clearing(*, actor: str) -> None:
    """Enqueue a job that clears erased text from SQLite's files. On PostgreSQL, autovacuum clears erased text."""
    if connection.vendor == "sqlite":
        enqueue(CLEAR_TASK, actor=actor)


def clear_erased_text(job: Job, **_: object) -> None:
    """Merge the index until no segment contains deleted words, then empty the write-ahead log.

    Freed pages are overwritten by ``PRAGMA secure_delete``. Each step is a short transaction. If a reader uses the log,
    the job is retried.
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
    return cursor.fetchone()[0]


def narrow_by_index(text: str, column: str) -> Q:
    """Return a condition that matches at least the rows in which a word of a column begins with ``text``.

    The index may split text into words differently than the exact conditions do. It still finds every match, because
    every match starts at the beginning of a word. Without an index, the condition matches every row.
    """
    return narrow_by_beginnings([text], column)


def narrow_by_beginnings(texts: Sequence[str], column: str) -> Q:
    """Return a condition like ``narrow_by_index`` for words that begin with any of the texts."""
    if connection.vendor != "sqlite" or not _exists() or not all(map(_has_word, texts)):
        return Q()
    phrases = " OR ".join('"{}" *'.format(text.replace('"', '""')) for text in texts)
    return Q(pk__in=RawSQL(_QUERY, (f"{column} : ({phrases})",)))  # noqa: S611 - the argument is bound


def _exists() -> bool:
    alias = connection.alias
    if alias not in _present:
        _present[alias] = TABLE in connection.introspection.table_names()
    return _present[alias]


def _has_word(text: str) -> bool:
    """Return True if the index can find the text. Non-ASCII characters must be letters or digits.

    The older Unicode tables of the index may treat others differently, such as emoji, combining marks and newer
    scripts.
    """
    return any(character.isalnum() for character in text) and all(
        character.isascii() or _unicode.category(character) in {"Lu", "Ll", "Lo", "Nd"} for character in text
    )
