"""Protect events with database triggers, and redact personal data in them.

The triggers reject updates and deletions of event rows. The only exception is ``allow_redaction``: inside the block,
only the payload, changes and IP address of a row may be removed. Topic, subject, time and actor always remain. The
exception is enabled by a transaction setting on PostgreSQL and by an uncommitted row on SQLite. The exception therefore
affects no other transaction and ends with the transaction. On SQLite, a migration that rebuilds the table drops the
triggers, so every ``migrate`` re-creates them.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.db import connection, connections, transaction
from django.db.models import CASCADE, Model, Q, QuerySet

from apps.core.events.changed_rows import ROWS
from apps.core.events.models import Event
from apps.core.events.values import HIDDEN_VALUE
from apps.core.privacy import get_personal_fields
from apps.core.registry import Registry

TABLE = Event._meta.db_table
TRIGGERS = ("events_event_stays", "events_event_is_unchanged", "events_event_is_not_emptied", "events_event_is_new")
_SETTING = "backoffice.redacting"
_REDACTABLE = ("payload", "changes", "address")
_ERROR_MESSAGE = "event rows are never changed or deleted"


@contextmanager
def allow_redaction() -> Iterator[None]:
    """Allow the removal of personal data from event rows; an error rolls back the whole transaction."""
    with transaction.atomic(savepoint=False):
        _set_redaction(enabled=True)
        yield
        _set_redaction(enabled=False)


def create_event_triggers(using: str = "default", **_: object) -> None:
    database = connections[using]
    if TABLE not in database.introspection.table_names():
        return
    statements = _postgresql() if database.vendor == "postgresql" else _sqlite()
    with transaction.atomic(using), database.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _set_redaction(*, enabled: bool) -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT set_config(%s, %s, true)", [_SETTING, "on" if enabled else ""])
        else:
            cursor.execute("INSERT INTO events_redaction VALUES (1)" if enabled else "DELETE FROM events_redaction")


def _build_violation_condition(distinct: str, closed: str) -> str:
    """Return the SQL condition for updates that the trigger rejects because they change more than is allowed."""

    def changes(column: str | None) -> str:
        return f'NEW."{column}" {distinct} OLD."{column}"'

    fixed_columns = [
        field.column for field in Event._meta.concrete_fields if field.name not in {*_REDACTABLE, "updated_at"}
    ]
    blank = "'{}'::jsonb" if distinct == "IS DISTINCT FROM" else "'{}'"
    not_empty = {column: f'NEW."{column}" IS NOT NULL' for column in ("payload", "address")}
    not_empty["changes"] = f'NEW."changes" {distinct} {blank}'
    invalid_removals = [f"({changes(column)} AND ({not_empty[column]} OR {closed}))" for column in _REDACTABLE]
    return " OR ".join([*map(changes, fixed_columns), *invalid_removals, f"({changes('updated_at')} AND {closed})"])


def _sqlite() -> list[str]:
    # ``REPLACE`` bypasses the delete trigger, so there is also a trigger for inserts.
    action = f"BEGIN SELECT RAISE(ABORT, '{_ERROR_MESSAGE}'); END"
    delete_trigger, update_trigger, _, insert_trigger = TRIGGERS
    condition = _build_violation_condition("IS NOT", "NOT EXISTS (SELECT 1 FROM events_redaction)")
    duplicates = ("SELECT 1 FROM events_event WHERE id = NEW.id", "SELECT 1 FROM events_event WHERE key = NEW.key")
    is_duplicate = " OR ".join(f"EXISTS ({query})" for query in duplicates)
    return [
        "CREATE TABLE IF NOT EXISTS events_redaction (opened integer NOT NULL)",
        *(f"DROP TRIGGER IF EXISTS {name}" for name in (delete_trigger, update_trigger, insert_trigger)),
        f"CREATE TRIGGER {delete_trigger} BEFORE DELETE ON {TABLE} {action}",
        f"CREATE TRIGGER {update_trigger} BEFORE UPDATE ON {TABLE} WHEN {condition} {action}",
        f"CREATE TRIGGER {insert_trigger} BEFORE INSERT ON {TABLE} WHEN {is_duplicate} {action}",
    ]


def _postgresql() -> list[str]:
    delete_trigger, update_trigger, truncate_trigger, _ = TRIGGERS
    name = "events_event_refuse"
    condition = _build_violation_condition(
        "IS DISTINCT FROM", f"current_setting('{_SETTING}', true) IS DISTINCT FROM 'on'"
    )
    body = f"BEGIN RAISE EXCEPTION '{_ERROR_MESSAGE}' USING ERRCODE = 'restrict_violation'; END"
    action = f"EXECUTE FUNCTION {name}()"
    return [
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$",
        f"CREATE OR REPLACE TRIGGER {delete_trigger} BEFORE DELETE ON {TABLE} FOR EACH ROW {action}",
        f"CREATE OR REPLACE TRIGGER {update_trigger} BEFORE UPDATE ON {TABLE} FOR EACH ROW WHEN ({condition}) {action}",
        f"CREATE OR REPLACE TRIGGER {truncate_trigger} BEFORE TRUNCATE ON {TABLE} FOR EACH STATEMENT {action}",
    ]


RedactionHook = Callable[[type[Model], Collection[int], "QuerySet[Event]"], None]
# Functions that are called with the redacted rows and their events, e.g. to clear stored responses.
redaction_hooks = Registry[str, RedactionHook]("redaction hooks")
# Functions that are called with rows that are about to be deleted. Events and deliveries of the rows remain.
deletion_hooks = Registry[str, RedactionHook]("deletion hooks")
_BATCH = 500


def redact_events(model: type[Model], ids: Collection[int]) -> None:
    """Remove the payloads and personal values from all events of these rows.

    New events already hide the values of personal columns. If an event still contains such values, because the column
    was declared personal later, all changes of the event are removed. The IP address is removed from events that a
    customer caused.
    """
    columns = get_personal_fields(model)
    row_ids = sorted(ids)
    for batch in (row_ids[start : start + _BATCH] for start in range(0, len(row_ids), _BATCH)):
        events = Event.objects.filter(subject_type=model._meta.label_lower, subject_id__in=batch)
        for hook in redaction_hooks.values():
            hook(model, batch, events)
        with allow_redaction():
            events.filter(payload__isnull=False).update(payload=None)
            events.filter(actor__startswith="customer:").update(address=None)
            Event.objects.filter(pk__in=_find_events_with_values(events, columns)).update(changes={})


def clear_copies(model: type[Model], ids: Collection[int]) -> None:
    """Clear copies of the personal data of rows that are about to be deleted, because no erasure finds them later."""
    deleted_ids: dict[type[Model], Collection[int]] = {model: ids}
    for related, name in _get_dependents(model):
        if get_personal_fields(related) or any(get_personal_fields(child) for child, _ in _get_dependents(related)):
            rows = related._default_manager.filter(**{f"{name}__in": ids})
            deleted_ids[related] = list(rows.values_list("pk", flat=True))
    for kind, row_ids in deleted_ids.items():
        if row_ids:
            events = Event.objects.filter(subject_type=kind._meta.label_lower, subject_id__in=row_ids)
            for hook in deletion_hooks.values():
                hook(kind, row_ids, events)


def _get_dependents(model: type[Model]) -> list[tuple[type[Model], str]]:
    """Return the models with rows that are deleted with a row of this model, and the names of their foreign keys."""
    relations = [relation for relation in model._meta.related_objects if relation.on_delete is CASCADE]
    return [(relation.related_model, relation.field.name) for relation in relations]


def clear_payloads(events: QuerySet[Event]) -> int:
    with allow_redaction():
        return events.update(payload=None)


def _find_events_with_values(events: QuerySet[Event], columns: Collection[str]) -> list[int]:
    has_column = Q(changes__has_key=ROWS)
    for column in columns:
        has_column |= Q(changes__has_key=column)
    rows = events.filter(has_column).values_list("pk", "changes")
    return [pk for pk, changes in rows.iterator() if _has_values(changes, columns)]


def _has_values(changes: dict[str, Any], columns: Collection[str]) -> bool:
    parts = changes.get(ROWS, {}).get("rows", ())
    if any(_has_values(part["changes"], _get_personal_fields_of(part["type"])) for part in parts):
        return True
    pairs = [pair for column in columns if isinstance(pair := changes.get(column), list)]
    return any(value not in (HIDDEN_VALUE, "", None, [], {}) for pair in pairs for value in pair)


def _get_personal_fields_of(label: str) -> Collection[str]:
    try:
        return get_personal_fields(apps.get_model(label))
    except LookupError:
        return ()
