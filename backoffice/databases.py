"""The database of ``DATABASE_URL``, tuned for several writers and for connections that last."""

from pathlib import Path
from typing import Any

import environ

from backoffice import variables

SCHEMES = ("sqlite", "postgres", "postgresql")
# Connections stay open from request to request; one that has died meanwhile is replaced.
_LASTING = {"CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True}


def database_of(data_dir: Path) -> dict[str, Any]:
    """The database of ``DATABASE_URL``: SQLite tuned for several writers, or PostgreSQL with lasting connections."""
    default = f"sqlite:///{data_dir / 'backoffice.sqlite3'}"
    database: dict[str, Any] = environ.Env().db_url_config(
        variables.url("DATABASE_URL", default, SCHEMES, bare=SCHEMES)
    )
    options = database.setdefault("OPTIONS", {})
    if database["ENGINE"] == "django.db.backends.sqlite3":
        # Writers queue instead of trying their luck.
        database["ENGINE"] = "backoffice.sqlite"
        # A write transaction takes its lock when it begins; one that starts as a reader could not be granted it later.
        options.setdefault("transaction_mode", "IMMEDIATE")
        # Tests use a file as well: databases in memory lock by other rules.
        database["TEST"] = {"NAME": str(data_dir / "test.sqlite3")}
        options.setdefault("timeout", variables.whole("BACKOFFICE_LOCK_TIMEOUT_MS", 20_000) / 1000)
        options.setdefault(
            "init_command",
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;"
            # What is erased is overwritten, wherever it stood in the file.
            "PRAGMA secure_delete=ON;"
            "PRAGMA mmap_size=134217728; PRAGMA journal_size_limit=67108864; PRAGMA cache_size=-16000;",
        )
    else:
        options.setdefault("connect_timeout", 5)
        # A peer that went without a word is noticed within seconds, not hours.
        options.setdefault("tcp_user_timeout", 10_000)
        options.setdefault("keepalives_idle", 10)
        options.setdefault("keepalives_interval", 5)
        options.setdefault("keepalives_count", 3)
        if variables.switch("BACKOFFICE_DATABASE_POOLER", default=False):
            # Between two transactions a pooler may give us another session: nothing of one can be kept, neither
            # statements nor cursors nor settings. The role or the database says how long to wait (docs/operators.md).
            database["DISABLE_SERVER_SIDE_CURSORS"] = True
            options.setdefault("prepare_threshold", None)
            return database | _LASTING
        # Without a threshold psycopg prepares nothing, not even what asks for it.
        options.setdefault("prepare_threshold", 5)
        options.setdefault(
            "options",
            f"-c statement_timeout={variables.whole('BACKOFFICE_STATEMENT_TIMEOUT_MS', 60_000)}"
            f" -c lock_timeout={variables.whole('BACKOFFICE_LOCK_TIMEOUT_MS', 5_000)}"
            " -c idle_in_transaction_session_timeout=60000"
            # The prepared statements look rows up by keys: PostgreSQL need not plan them anew for each set of values.
            " -c plan_cache_mode=force_generic_plan",
        )
    return database | _LASTING
