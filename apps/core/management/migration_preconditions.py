"""Check before the first migration whether all migrations can succeed, so that ``migrate`` does not stop halfway.

Each check raises ``PreconditionFailed`` with a sentence that says what is wrong and what to do.
"""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cryptography.fernet import InvalidToken
from django.apps import apps
from django.conf import settings
from django.db import Error, NotSupportedError, transaction
from django.db.migrations import CreateModel, Migration
from django.db.migrations.exceptions import InconsistentMigrationHistory
from django.db.migrations.executor import MigrationExecutor

from apps.core.db.encrypted_fields import SecretField, decrypt, is_encrypted
from apps.core.db.migration_operations import CreateModels
from apps.core.db.transient_errors import is_lock_timeout

# Free space that migrations need in addition to a copy of a SQLite database.
MARGIN_BYTES = 64 * 1024 * 1024
# Django's SQLite backend gives the new version of a table a name with this prefix until it replaces the old one.
_SQLITE_COPY_PREFIX = "new__"
_FOREIGN_TABLE_SQL = """
SELECT tablename, tableowner FROM pg_tables
WHERE schemaname = current_schema() AND NOT pg_has_role(tableowner, 'USAGE') LIMIT 1
"""
_CAN_WRITE_SQL = """
SELECT current_user, current_setting('transaction_read_only') = 'on', has_schema_privilege(current_schema(), 'CREATE'),
       EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_trgm')
"""


class PreconditionFailed(Exception):
    """Raised with a sentence for the operator if the migrations could not succeed."""


def check_preconditions(connection: Any) -> None:
    """Check the database, its contents, the secret key and the disk. The database is not changed.

    Raises:
        PreconditionFailed: A migration would fail or the upgraded installation would not work.
    """
    _check_database(connection)
    try:
        (_check_postgresql if connection.vendor == "postgresql" else _check_sqlite)(connection)
        tables = set(connection.introspection.table_names())
        unapplied = _find_unapplied(connection)
        _check_leftovers(connection, tables, unapplied)
        _check_key(connection, tables)
        if unapplied:
            _check_disk(connection)
    except Error as error:
        raise PreconditionFailed(f"The database can't be read ({_get_reason(error)}).") from error


def _check_database(connection: Any) -> None:
    try:
        connection.ensure_connection()
    except NotSupportedError as error:
        # The message names the required and the installed version.
        raise PreconditionFailed(f"{_get_reason(error).rstrip('.')}. Upgrade the database server first.") from error
    except Error as error:
        raise PreconditionFailed(
            f"The database is not available ({_get_reason(error)}). Check DATABASE_URL."
        ) from error


def _check_postgresql(connection: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_CAN_WRITE_SQL)
        user, is_read_only, can_create, has_trigrams = cursor.fetchone()
        cursor.execute(_FOREIGN_TABLE_SQL)
        foreign_table = cursor.fetchone()
    if is_read_only:
        raise PreconditionFailed("The database is read-only. DATABASE_URL must name the primary server.")
    if not can_create:
        raise PreconditionFailed(f"The role {user} can't create tables. Run: GRANT CREATE ON SCHEMA public TO {user}")
    if foreign_table:
        table, owner = foreign_table
        raise PreconditionFailed(f"The role {user} can't change the table {table}. Migrate as its owner, {owner}.")
    if not has_trigrams:
        raise PreconditionFailed("PostgreSQL lacks the extension pg_trgm. Install the package postgresql-contrib.")


def _check_sqlite(connection: Any) -> None:
    try:
        with transaction.atomic(using=connection.alias):
            # SQLite refuses to begin a write transaction if the file or its folder is read-only.
            transaction.set_rollback(True, using=connection.alias)
    except Error as error:
        name = connection.settings_dict["NAME"]
        reason = "another process holds a write transaction" if is_lock_timeout(error) else _get_reason(error)
        raise PreconditionFailed(f"The database {name} can't be written ({reason}).") from error


def _find_unapplied(connection: Any) -> list[Migration]:
    """Return the migrations that are not applied yet. Check that the applied ones belong to this release."""
    executor = MigrationExecutor(connection)
    loader = executor.loader
    try:
        loader.check_consistent_history(connection)
    except InconsistentMigrationHistory as error:
        raise PreconditionFailed(f"{error} Restore a backup of the last release.") from error
    own_apps = {label for label, _ in loader.disk_migrations if apps.get_app_config(label).name.startswith("apps.")}
    for app, name in sorted(loader.applied_migrations.keys() - loader.disk_migrations.keys()):
        if app in own_apps:
            raise PreconditionFailed(
                f"The database has the migration {app}.{name}, which this release does not know. "
                "Install the release that migrated the database, or a later one."
            )
    return [migration for migration, _ in executor.migration_plan(loader.graph.leaf_nodes())]


def _check_leftovers(connection: Any, tables: set[str], unapplied: Iterable[Migration]) -> None:
    """Check that no interrupted migration has left a table behind, because the same migration would fail again."""
    copies = [name for name in tables if name.startswith(_SQLITE_COPY_PREFIX)] if connection.vendor == "sqlite" else []
    expected = {table: migration for migration in unapplied for table in _iterate_new_tables(migration)}
    for table in sorted({*copies, *(tables & expected.keys())}):
        raise PreconditionFailed(
            f"The table {table} was left behind by an interrupted migration. "
            "Restore the backup that you made before the upgrade, or drop the table if it is empty."
        )


def _iterate_new_tables(migration: Migration) -> Iterator[str]:
    for operation in migration.operations:
        for model in operation.models if isinstance(operation, CreateModels) else [operation]:
            if isinstance(model, CreateModel) and not model.options.get("proxy") and model.options.get("managed", True):
                yield model.options.get("db_table") or f"{migration.app_label}_{model.name_lower}"


def _check_key(connection: Any, tables: set[str]) -> None:
    """Check that the secret key can decrypt each stored secret. New secrets would make a wrong key hard to replace."""
    for table, secret in _iterate_secrets(connection, tables):
        try:
            decrypt(secret)
        except InvalidToken:
            raise PreconditionFailed(
                f"BACKOFFICE_SECRET_KEY can't decrypt the secrets in the table {table}. Set the key of this "
                "installation, and list previous keys in BACKOFFICE_SECRET_KEY_FALLBACKS."
            ) from None


def _iterate_secrets(connection: Any, tables: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the encrypted secrets with their tables. Some columns of the models may not exist yet."""
    for model in apps.get_models():
        table = model._meta.db_table
        fields = [field for field in model._meta.local_concrete_fields if isinstance(field, SecretField)]
        if fields and table in tables:
            with connection.cursor() as cursor:
                existing = {column.name for column in connection.introspection.get_table_description(cursor, table)}
                for field in fields:
                    if field.column in existing:
                        column = connection.ops.quote_name(field.column)
                        cursor.execute(f"SELECT {column} FROM {connection.ops.quote_name(table)}")  # noqa: S608
                        yield from ((table, secret) for (secret,) in cursor.fetchall() if secret is not None)
    if "mfa_authenticator" in tables:
        authenticators = apps.get_model("mfa", "Authenticator").objects.using(connection.alias)
        for data in authenticators.values_list("data", flat=True):
            secrets = [value for value in data.values() if isinstance(value, str) and is_encrypted(value)]
            yield from (("mfa_authenticator", secret) for secret in secrets)


def _check_disk(connection: Any) -> None:
    """Check the free space. The disk of a PostgreSQL server is not visible from here."""
    required = {Path(settings.DATA_DIR): MARGIN_BYTES}
    if connection.vendor == "sqlite" and not connection.is_in_memory_db():
        # SQLite may copy a whole table to change it.
        file = Path(connection.settings_dict["NAME"])
        required[file.parent] = MARGIN_BYTES + file.stat().st_size
    for folder, size in required.items():
        if (free := shutil.disk_usage(folder).free) < size:
            megabytes = 1024 * 1024
            raise PreconditionFailed(
                f"The disk of {folder} has {free // megabytes} MB of free space, but the migrations may need "
                f"{size // megabytes} MB. Free some space first."
            )


def _get_reason(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
