"""Record which rows a transaction locks and in which order, on PostgreSQL.

The keys of locked rows come from the database. For ``SELECT … FOR UPDATE``, a query reads the keys before the statement
runs. For UPDATE and DELETE, a RETURNING clause is added; if the statement already has a RETURNING clause, a query reads
the keys first. Rows created in the same transaction are ignored, because no other transaction can lock them.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import connection

Key = tuple[Any, ...]

# Rows are locked in ascending order of their keys. In these tables the key is not the primary key.
KEYS: dict[str, tuple[str, ...]] = {
    "inventory_inventorylevel": ("item_id", "location_id"),
    "content_filecontent": ("sha256",),
}
_SELECT = re.compile(r'SELECT .*? (FROM "(\w+)".* FOR (?:NO KEY )?(?:UPDATE|SHARE|KEY SHARE)\b.*)', re.DOTALL)
_RAW_SELECT = re.compile(r"SELECT \w+ (FROM (\w+) .* FOR SHARE)", re.DOTALL)
_WRITE = re.compile(r'(?:UPDATE|DELETE FROM) "?(\w+)"?\s', re.DOTALL)
_EACH = re.compile(r'(?:UPDATE|DELETE FROM) "?(\w+)"? (SET .*)?WHERE (.*?)(?: RETURNING .*)?$', re.DOTALL)
_ROW = re.compile(r"^\| `(\w+)` \|(.*)\|$", re.MULTILINE)
_SEQUENCES = "SELECT regexp_replace(sequencename, '_id_seq$', ''), last_value FROM pg_sequences"


@dataclass
class LockRecorder:
    """The row locks of each transaction."""

    # For each table, the root of its aggregate. A lock on the root row covers the aggregate's other rows.
    roots: Mapping[str, str] = field(default_factory=dict)
    # Maps ``(held, locked)``, a table with locked rows and the table locked next, to the statement.
    steps: dict[tuple[str, str], str] = field(default_factory=dict)
    # Statements that lock a table's rows in an undefined order, or lock a lower key after a higher one.
    disorder: list[str] = field(default_factory=list)
    _base: int = 0
    _unit: str | None = None
    _last: dict[str, int] = field(default_factory=dict)
    _held: dict[str, dict[object, Key]] = field(default_factory=dict)

    def __call__(self, execute: Callable[..., object], sql: Any, params: Any, many: bool, context: Any) -> object:
        if not isinstance(sql, str):
            return execute(sql, params, many, context)
        self._follow()
        if many:
            params = list(params)
            self._note_each(sql, params)
            return execute(sql, params, many, context)
        if "SKIP LOCKED" not in sql and "NOWAIT" not in sql:
            if match := _SELECT.match(sql) or _RAW_SELECT.match(sql):
                self._note(match[2], self._ask(match[2], match[1], params), sql, ordered=True)
            elif _WRITE.match(sql) and " RETURNING " in sql:
                self._note_each(sql, [params])
            elif match := _WRITE.match(sql):
                table = match[1]
                if columns := self._columns(table):
                    cursor_result = execute(f"{sql} RETURNING {columns}", params, many, context)
                    rows = context["cursor"].cursor.fetchall()
                    self._note(table, rows, sql, ordered=False)
                    return cursor_result
        return execute(sql, params, many, context)

    def _note_each(self, sql: str, params: list[Any]) -> None:
        """Record the locks of a statement that runs for many rows of parameters or has a RETURNING clause."""
        match = _EACH.match(sql)
        if match and self._columns(match[1]):
            before = (match[2] or "").count("%s")
            for row_params in params:
                rows = self._ask(match[1], f"FROM {match[1]} WHERE {match[3]}", row_params[before:])
                self._note(match[1], rows, sql, ordered=False)

    def _follow(self) -> None:
        """Clear the recorded locks when a new outermost transaction begins."""
        ids = connection.savepoint_ids
        unit = ids[self._base] if len(ids) > self._base else None
        if unit is None or unit != self._unit:
            self._unit, self._held = unit, {}
            with connection.connection.cursor() as cursor:
                self._last = {name: last or 0 for name, last in cursor.execute(_SEQUENCES).fetchall()}

    def _columns(self, table: str) -> str:
        models = {model._meta.db_table: model for model in apps.get_models(include_auto_created=True)}
        model = models.get(table)
        if model is None:
            return ""
        names = (model._meta.pk.column, *KEYS.get(table, ()))
        return ", ".join(f'"{table}"."{name}"' for name in names)

    def _ask(self, table: str, rest: str, params: object) -> list[Key]:
        columns = self._columns(table)
        with connection.connection.cursor() as cursor:
            return cursor.execute(f"SELECT {columns} {rest}", params).fetchall()

    def _note(self, table: str, rows: list[Key], sql: str, *, ordered: bool) -> None:
        if self.roots.get(table) in self._held:
            return
        held_rows = self._held.get(table, {})
        last = self._last.get(table)
        new = [row for row in rows if row[0] not in held_rows and not (last is not None and row[0] > last)]
        if not new:
            return
        for other in self._held:
            if other != table:
                self.steps.setdefault((other, table), sql)
        keys = [row[1:] or row for row in new]
        top = max(held_rows.values(), default=None)
        # Shared locks do not block each other.
        unsorted = (not ordered and len(keys) > 1) or keys != sorted(keys) or (top is not None and keys[0] < top)
        if unsorted and not sql.rstrip().endswith("SHARE"):
            self.disorder.append(f"{table} {keys} after {sorted(held_rows.values())}: {sql}")
        self._held.setdefault(table, {}).update({row[0]: key for row, key in zip(new, keys, strict=True)})


@contextmanager
def watch_locks(roots: Mapping[str, str]) -> Iterator[LockRecorder]:
    watch = LockRecorder(roots)
    watch._base = len(connection.savepoint_ids)
    with connection.execute_wrapper(watch):
        yield watch


def read_lock_order() -> dict[str, list[str]]:
    text = (Path(settings.BASE_DIR) / "docs/internals.md").read_text().split("### Lock order")[1]
    return {root: re.findall(r"`(\w+)`", parts) for root, parts in _ROW.findall(text.split("\n## ")[0])}


TABLE = read_lock_order()
ROOTS = {part: root for root, parts in TABLE.items() for part in parts}
POSITIONS = {name: place for place, root in enumerate(TABLE) for name in (root, *TABLE[root])}


def find_breaches(watch: LockRecorder) -> list[str]:
    wrong = [
        f"{locked_before} before {locked}: {sql}"
        for (locked_before, locked), sql in watch.steps.items()
        if POSITIONS.get(locked_before, -1) > POSITIONS.get(locked, -1)
    ]
    return wrong + watch.disorder
