"""The guard of the audit trail: triggers by which the database itself refuses to change or delete an event row.

One way is left open, which the erasure of personal data goes: a row may lose its payload, what changed and the address
it came from. That it happened, to what, when and by whom, stays. Migrations on SQLite may rebuild the table, and its
triggers are gone then; so they are made (again) after every ``migrate``.
"""

from django.db import connections

from apps.events.models import Event

TABLE = Event._meta.db_table
TRIGGERS = ("events_event_stays", "events_event_is_unchanged")
_LOSABLE = {"payload", "changes", "address", "updated_at"}
_SAYS = "event rows are never changed or deleted"


def ensure(using: str = "default", **_: object) -> None:
    """Make the triggers where they are missing; a receiver of ``post_migrate``."""
    database = connections[using]
    if TABLE not in database.introspection.table_names():
        return
    with database.cursor() as cursor:
        for statement in _postgresql() if database.vendor == "postgresql" else _sqlite():
            cursor.execute(statement)


def lift(using: str = "default") -> None:
    """Take the triggers away, for a test's own clearing of tables; ``ensure`` brings them back."""
    database = connections[using]
    on = f" ON {TABLE}" if database.vendor == "postgresql" else ""
    with database.cursor() as cursor:
        for name in TRIGGERS:
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}{on}")


def _condition(distinct: str) -> str:
    """When an update changes more than it may."""
    kept = [field.column for field in Event._meta.concrete_fields if field.name not in _LOSABLE]
    changed = [f"NEW.{quoted} {distinct} OLD.{quoted}" for quoted in (f'"{column}"' for column in kept)]
    lost = [
        f'(NEW."{column}" IS NOT NULL AND NEW."{column}" {distinct} OLD."{column}")'
        for column in ("payload", "address")
    ]
    blank = "'{}'::jsonb" if distinct == "IS DISTINCT FROM" else "'{}'"
    emptied = f'(NEW."changes" {distinct} {blank} AND NEW."changes" {distinct} OLD."changes")'
    return " OR ".join([*changed, *lost, emptied])


def _sqlite() -> list[str]:
    refusal = f"BEGIN SELECT RAISE(ABORT, '{_SAYS}'); END"
    stays, unchanged = TRIGGERS
    return [
        f"CREATE TRIGGER IF NOT EXISTS {stays} BEFORE DELETE ON {TABLE} {refusal}",
        f"CREATE TRIGGER IF NOT EXISTS {unchanged} BEFORE UPDATE ON {TABLE} WHEN {_condition('IS NOT')} {refusal}",
    ]


def _postgresql() -> list[str]:
    stays, unchanged = TRIGGERS
    name, condition = "events_event_refuse", _condition("IS DISTINCT FROM")
    body = f"BEGIN RAISE EXCEPTION '{_SAYS}' USING ERRCODE = 'restrict_violation'; END"
    refusal = f"EXECUTE FUNCTION {name}()"
    return [
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$",
        f"CREATE OR REPLACE TRIGGER {stays} BEFORE DELETE ON {TABLE} FOR EACH ROW {refusal}",
        f"CREATE OR REPLACE TRIGGER {unchanged} BEFORE UPDATE ON {TABLE} FOR EACH ROW WHEN ({condition}) {refusal}",
    ]
