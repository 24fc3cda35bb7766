"""The guard of the audit trail: triggers by which the database itself refuses to change or delete an event row.

One door is left, ``redacting``: within it a row may lose its payload, what changed and the address it came from, and
nothing else. That it happened, to what, when and by whom, stays. The door is a setting of the transaction on PostgreSQL
and a row that is never committed on SQLite, so no other transaction finds it open, and none leaves it so. Migrations on
SQLite may rebuild the table, and its triggers are gone then; so they are made (again) after every ``migrate``.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, connections, transaction

from apps.events.models import Event

TABLE = Event._meta.db_table
TRIGGERS = ("events_event_stays", "events_event_is_unchanged", "events_event_is_not_emptied", "events_event_is_new")
_SETTING = "backoffice.redacting"
_LOSABLE = ("payload", "changes", "address")
_SAYS = "event rows are never changed or deleted"


@contextmanager
def redacting() -> Iterator[None]:
    """Within it, event rows may lose what they say of persons; an error takes back all that the transaction did."""
    with transaction.atomic(savepoint=False):
        _turn(opened=True)
        yield
        _turn(opened=False)


def ensure(using: str = "default", **_: object) -> None:
    """Make the triggers as they are to be; a receiver of ``post_migrate``."""
    database = connections[using]
    if TABLE not in database.introspection.table_names():
        return
    statements = _postgresql() if database.vendor == "postgresql" else _sqlite()
    with transaction.atomic(using), database.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def lift(using: str = "default") -> None:
    """Take the triggers away, for a test's own clearing of tables; ``ensure`` brings them back."""
    database = connections[using]
    on = f" ON {TABLE}" if database.vendor == "postgresql" else ""
    with database.cursor() as cursor:
        for name in TRIGGERS:
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}{on}")


def _turn(*, opened: bool) -> None:
    """Open or close the door for the statements that follow in this transaction."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT set_config(%s, %s, true)", [_SETTING, "on" if opened else ""])
        else:
            cursor.execute("INSERT INTO events_redaction VALUES (1)" if opened else "DELETE FROM events_redaction")


def _condition(distinct: str, closed: str) -> str:
    """When an update changes more than it may."""

    def changes(column: str | None) -> str:
        return f'NEW."{column}" {distinct} OLD."{column}"'

    kept = [field.column for field in Event._meta.concrete_fields if field.name not in {*_LOSABLE, "updated_at"}]
    blank = "'{}'::jsonb" if distinct == "IS DISTINCT FROM" else "'{}'"
    filled = {column: f'NEW."{column}" IS NOT NULL' for column in ("payload", "address")}
    filled["changes"] = f'NEW."changes" {distinct} {blank}'
    lost = [f"({changes(column)} AND ({filled[column]} OR {closed}))" for column in _LOSABLE]
    return " OR ".join([*map(changes, kept), *lost, f"({changes('updated_at')} AND {closed})"])


def _sqlite() -> list[str]:
    """A row that takes another's place would delete it past the trigger of deletions, so there is one for that too."""
    refusal = f"BEGIN SELECT RAISE(ABORT, '{_SAYS}'); END"
    stays, unchanged, _, new = TRIGGERS
    condition = _condition("IS NOT", "NOT EXISTS (SELECT 1 FROM events_redaction)")
    same = ("SELECT 1 FROM events_event WHERE id = NEW.id", "SELECT 1 FROM events_event WHERE key = NEW.key")
    there = " OR ".join(f"EXISTS ({each})" for each in same)
    return [
        "CREATE TABLE IF NOT EXISTS events_redaction (opened integer NOT NULL)",
        *(f"DROP TRIGGER IF EXISTS {name}" for name in (stays, unchanged, new)),
        f"CREATE TRIGGER {stays} BEFORE DELETE ON {TABLE} {refusal}",
        f"CREATE TRIGGER {unchanged} BEFORE UPDATE ON {TABLE} WHEN {condition} {refusal}",
        f"CREATE TRIGGER {new} BEFORE INSERT ON {TABLE} WHEN {there} {refusal}",
    ]


def _postgresql() -> list[str]:
    stays, unchanged, unemptied, _ = TRIGGERS
    name = "events_event_refuse"
    condition = _condition("IS DISTINCT FROM", f"current_setting('{_SETTING}', true) IS DISTINCT FROM 'on'")
    body = f"BEGIN RAISE EXCEPTION '{_SAYS}' USING ERRCODE = 'restrict_violation'; END"
    refusal = f"EXECUTE FUNCTION {name}()"
    return [
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$",
        f"CREATE OR REPLACE TRIGGER {stays} BEFORE DELETE ON {TABLE} FOR EACH ROW {refusal}",
        f"CREATE OR REPLACE TRIGGER {unchanged} BEFORE UPDATE ON {TABLE} FOR EACH ROW WHEN ({condition}) {refusal}",
        f"CREATE OR REPLACE TRIGGER {unemptied} BEFORE TRUNCATE ON {TABLE} FOR EACH STATEMENT {refusal}",
    ]
