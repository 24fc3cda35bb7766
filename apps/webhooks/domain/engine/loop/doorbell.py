"""Telling the dispatchers of new events at once: PostgreSQL's own channel, rung after the commit.

Ringing inside of the transaction would make all commits queue for the channel's lock. At most one ring in a twentieth
of a second leaves each process; dispatchers look again by themselves for longer than that. Where the channel does not
serve (SQLite, a pooler between, an outage) they find events by looking.
"""

import asyncio
import logging
import time
from collections.abc import Callable

import psycopg
from django.conf import settings
from django.db import connection, transaction

from apps.ground.sessions import are_shared

logger = logging.getLogger(__name__)

CHANNEL = "webhooks"
QUIET_SECONDS = 0.05
_AGAIN_SECONDS = 2.0
_rung_at = 0.0


def ring_after_commit() -> None:
    """Ring once the current transaction is committed."""
    if connection.vendor == "postgresql":
        transaction.on_commit(ring, robust=True)


def ring() -> None:
    """Ring, unless this process did a moment ago."""
    global _rung_at
    now = time.monotonic()
    if now - _rung_at < QUIET_SECONDS:
        return
    _rung_at = now
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"NOTIFY {CHANNEL}")
    except Exception:
        logger.warning("The webhook dispatchers could not be rung for; they will look", exc_info=True)


async def listen(heard: Callable[[], None]) -> None:
    """Call a function at each ring, for ever; returns at once where there is no channel.

    Behind a pooler nobody listens: rings would go to whoever has the session by then.
    """
    if not settings.DATABASES["default"]["ENGINE"].endswith("postgresql") or are_shared():
        return
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(_conninfo(), autocommit=True) as channel:
                await channel.execute(f"LISTEN {CHANNEL}")
                heard()
                async for _ in channel.notifies():
                    heard()
        except (psycopg.Error, OSError) as error:
            logger.warning("The channel of webhooks is away: %s", error)
        await asyncio.sleep(_AGAIN_SECONDS)


def _conninfo() -> str:
    parameters = connection.get_connection_params()
    wanted = ("host", "port", "user", "password", "dbname", "target_session_attrs")
    secured = ("sslmode", "sslrootcert", "sslcert", "sslkey")
    return psycopg.conninfo.make_conninfo(
        **{name: parameters[name] for name in wanted + secured if parameters.get(name)}, connect_timeout=5
    )
