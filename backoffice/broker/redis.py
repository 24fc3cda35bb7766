"""A Redis broker without retries, based on kombu's Redis transport."""

from typing import Any

from kombu.transport.redis import Channel, Transport
from redis import Connection, SSLConnection
from redis.backoff import NoBackoff
from redis.retry import Retry


class _NoRetry:
    """Mixin for connections that do not retry failed commands.

    By default, redis-py retries three times and sleeps for up to ten seconds in between. This would delay the
    transaction that creates a job. A lost notification is harmless, and workers reconnect automatically.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "retry": Retry(NoBackoff(), 0)})


class _NoRetryConnection(_NoRetry, Connection):
    """A connection without retries."""


class _NoRetrySSLConnection(_NoRetry, SSLConnection):
    """A TLS connection without retries."""


class NoRetryChannel(Channel):
    connection_class = _NoRetryConnection
    connection_class_ssl = _NoRetrySSLConnection


class NoRetryTransport(Transport):
    Channel = NoRetryChannel
