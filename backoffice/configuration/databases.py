"""Database settings from ``DATABASE_URL``, tuned for concurrent writers and persistent connections."""

from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from backoffice.configuration import env

SCHEMES = ("sqlite", "postgres", "postgresql")
# Connections are persistent, and Django replaces broken connections.
_PERSISTENT = {"CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True}


def get_replica_settings() -> dict[str, Any]:
    if not env.get_text("BACKOFFICE_REPLICA_URL"):
        return {}
    if not env.get_text("DATABASE_URL").startswith("postgres"):
        raise ImproperlyConfigured("BACKOFFICE_REPLICA_URL needs PostgreSQL in DATABASE_URL.")
    if not env.get_text("CACHE_URL"):
        raise ImproperlyConfigured(
            "BACKOFFICE_REPLICA_URL needs CACHE_URL: processes announce writes through the cache."
        )
    database = _add_postgresql_options(env.convert_database_url(env.get_url("BACKOFFICE_REPLICA_URL", "", SCHEMES[1:])))
    # After this timeout, the request uses the primary database instead.
    database["OPTIONS"]["connect_timeout"] = 2
    return {"replica": database | {"TEST": {"MIRROR": "default"}}}


def get_database_settings(data_dir: Path) -> dict[str, Any]:
    default = f"sqlite:///{data_dir / 'backoffice.sqlite3'}"
    database = env.convert_database_url(env.get_url("DATABASE_URL", default, SCHEMES, bare=SCHEMES, allow_several=True))
    options = database.setdefault("OPTIONS", {})
    if database["ENGINE"] == "django.db.backends.sqlite3":
        # Not used, but a known name (``env.warn_about_unknown_names``).
        env.get_flag("BACKOFFICE_DATABASE_POOLER", default=False)
        # This backend retries soon to begin a transaction. SQLite itself would let some writers wait for seconds.
        database["ENGINE"] = "backoffice.sqlite"
        # Lock at the start of a write transaction, because a transaction that starts as a reader might fail to get the
        # lock later.
        options.setdefault("transaction_mode", "IMMEDIATE")
        # Tests also use a file, because in-memory databases have different locking rules.
        database["TEST"] = {"NAME": str(data_dir / "test.sqlite3")}
        options.setdefault("timeout", env.get_integer("BACKOFFICE_LOCK_TIMEOUT_MS", 20_000) / 1000)
        options.setdefault(
            "init_command",
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;"
            # Overwrite all deleted data in the file with zeros.
            "PRAGMA secure_delete=ON;"
            "PRAGMA mmap_size=134217728; PRAGMA journal_size_limit=67108864; PRAGMA cache_size=-16000;",
        )
        return database | _PERSISTENT
    return _add_postgresql_options(database)


def _add_postgresql_options(database: dict[str, Any]) -> dict[str, Any]:
    options = database.setdefault("OPTIONS", {})
    lock_timeout = env.get_integer("BACKOFFICE_LOCK_TIMEOUT_MS", 5_000)
    options.setdefault("connect_timeout", 5)
    # Detect a dead connection within seconds instead of hours.
    options.setdefault("tcp_user_timeout", 10_000)
    options.setdefault("keepalives_idle", 10)
    options.setdefault("keepalives_interval", 5)
    options.setdefault("keepalives_count", 3)
    if env.get_flag("BACKOFFICE_DATABASE_POOLER", default=False):
        # A pooler may switch sessions between transactions. Prepared statements, server-side cursors and session
        # settings would therefore not work. Set the timeouts for the role or the database instead (docs/operators.md).
        database["DISABLE_SERVER_SIDE_CURSORS"] = True
        options.setdefault("prepare_threshold", None)
        return database | _PERSISTENT
    # Without a threshold, psycopg never prepares a statement, even if a call requests it.
    options.setdefault("prepare_threshold", 5)
    options.setdefault(
        "options",
        f"-c statement_timeout={env.get_integer('BACKOFFICE_STATEMENT_TIMEOUT_MS', 60_000)}"
        f" -c lock_timeout={lock_timeout}"
        " -c idle_in_transaction_session_timeout=60000"
        # Prepared statements look up rows by key, so one generic plan is good for all parameters.
        " -c plan_cache_mode=force_generic_plan"
        # No statement reads enough rows to repay the compilation, which takes 100 ms and more.
        " -c jit=off"
        # With PostgreSQL's default, which is meant for rotating disks, the planner would rather read and sort all rows
        # of a shop than follow the index of a list.
        " -c random_page_cost=1.1",
    )
    return database | _PERSISTENT
