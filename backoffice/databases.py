"""The database of ``DATABASE_URL``, tuned for several writers and for connections that last."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from backoffice import variables

SCHEMES = ("sqlite", "postgres", "postgresql")
# Connections stay open from request to request; one that has died meanwhile is replaced.
_LASTING = {"CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True}


def replica() -> dict[str, Any]:
    """The replica of ``BACKOFFICE_REPLICA_URL``, under its name; nothing without one.

    Raises:
        ImproperlyConfigured: The processes share no cache to tell each other of writes, or the database is SQLite.
    """
    if not variables.text("BACKOFFICE_REPLICA_URL"):
        return {}
    if not variables.text("DATABASE_URL").startswith("postgres"):
        raise ImproperlyConfigured("BACKOFFICE_REPLICA_URL needs PostgreSQL in DATABASE_URL.")
    if not variables.text("CACHE_URL"):
        raise ImproperlyConfigured("BACKOFFICE_REPLICA_URL needs CACHE_URL: processes tell each other of writes by it.")
    found = _postgresql(environ.Env().db_url_config(variables.url("BACKOFFICE_REPLICA_URL", "", SCHEMES[1:])))
    # Who waits for it in vain is served by the primary.
    found["OPTIONS"]["connect_timeout"] = 2
    return {"replica": found | {"TEST": {"MIRROR": "default"}}}


def database_of(data_dir: Path) -> dict[str, Any]:
    """The database of ``DATABASE_URL``: SQLite tuned for several writers, or PostgreSQL with lasting connections."""
    default = f"sqlite:///{data_dir / 'backoffice.sqlite3'}"
    database = _read(variables.url("DATABASE_URL", default, SCHEMES, bare=SCHEMES, several=True))
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
        return database | _LASTING
    return _postgresql(database)


def _read(url: str) -> dict[str, Any]:
    """The settings that an address stands for.

    Several hosts are servers of which one takes writes: whoever connects tries them in turn until it is that one.
    """
    hosts = variables.hosts(url)
    if len(hosts) == 1:
        found: dict[str, Any] = environ.Env().db_url_config(url)
        return found
    parts = urlsplit(url)
    login, at, _ = parts.netloc.rpartition("@")
    found = environ.Env().db_url_config(parts._replace(netloc=f"{login}{at}{hosts[0].netloc}").geturl())
    found["HOST"] = ",".join(str(host.hostname) for host in hosts)
    found["PORT"] = ",".join(str(host.port or 5432) for host in hosts)
    found.setdefault("OPTIONS", {}).setdefault("target_session_attrs", "read-write")
    return found


def _postgresql(database: dict[str, Any]) -> dict[str, Any]:
    options = database.setdefault("OPTIONS", {})
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
