"""The broker that is a Redis, through kombu's transport."""

from typing import Any

from kombu.transport.redis import Channel, Transport
from redis import Connection, SSLConnection
from redis.backoff import NoBackoff
from redis.retry import Retry


class _Once:
    """Tries once.

    redis-py tries three times more by itself and sleeps up to ten seconds in between, with which whoever has something
    to write would wait; a bell that is not heard costs nothing, and workers try again as long as it takes.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "retry": Retry(NoBackoff(), 0)})


class _OnceConnection(_Once, Connection):
    """A connection."""


class _OnceSSLConnection(_Once, SSLConnection):
    """A connection with TLS."""


class ImpatientChannel(Channel):
    """A channel whose connections try once."""

    connection_class = _OnceConnection
    connection_class_ssl = _OnceSSLConnection


class ImpatientTransport(Transport):
    """kombu's own, with such channels."""

    Channel = ImpatientChannel
