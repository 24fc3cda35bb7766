"""Notify dispatchers of new events with PostgreSQL's LISTEN/NOTIFY after the commit.

NOTIFY inside the transaction would serialize all commits on the channel's lock. Each process sends at most one
notification per 50 milliseconds and drops all others. After dispatchers find work, they poll for longer than 50
milliseconds, so they also find events if the notification was dropped. If there is no channel (with SQLite, with a
connection pooler or during an outage), dispatchers find events by polling.
"""

import asyncio
import logging
import time
from collections.abc import Callable

import psycopg
from django.conf import settings
from django.db import connection, transaction

from apps.core.db.connections import uses_transaction_pooling

logger = logging.getLogger(__name__)

CHANNEL = "webhooks"
MIN_INTERVAL_SECONDS = 0.05
_RECONNECT_SECONDS = 2.0
_notified_at = 0.0


def notify_after_commit() -> None:
    """Notify the dispatchers after the current transaction commits."""
    if connection.vendor == "postgresql":
        transaction.on_commit(notify_dispatchers, robust=True)


def notify_dispatchers() -> None:
    """Notify the dispatchers, unless this process has sent a notification within the last 50 milliseconds."""
    global _notified_at
    now = time.monotonic()
    if now - _notified_at < MIN_INTERVAL_SECONDS:
        return
    _notified_at = now
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"NOTIFY {CHANNEL}")
    except Exception:
        logger.warning("Could not notify the webhook dispatchers; they will poll", exc_info=True)


async def listen_for_notifications(on_notification: Callable[[], None]) -> None:
    """Call a function on each notification, forever. Return immediately if there is no channel."""
    # A pooler may assign the listening session to another client.
    if not settings.DATABASES["default"]["ENGINE"].endswith("postgresql") or uses_transaction_pooling():
        return
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(_conninfo(), autocommit=True) as channel:
                await channel.execute(f"LISTEN {CHANNEL}")
                on_notification()
                async for _ in channel.notifies():
                    on_notification()
        except (psycopg.Error, OSError) as error:
            logger.warning("Lost the webhook notification channel: %s", error)
        await asyncio.sleep(_RECONNECT_SECONDS)


def _conninfo() -> str:
    parameters = connection.get_connection_params()
    basic_names = ("host", "port", "user", "password", "dbname", "target_session_attrs")
    tls_names = ("sslmode", "sslrootcert", "sslcert", "sslkey")
    return psycopg.conninfo.make_conninfo(
        **{name: parameters[name] for name in basic_names + tls_names if parameters.get(name)}, connect_timeout=5
    )
