"""The Redis client of the cache and the rate limits, which gives up quickly.

A Redis server that accepts connections but does not respond would otherwise delay every request.
"""

from functools import cache
from typing import Any

from redis import ConnectionPool, Redis, exceptions

from apps.core.circuit_breaker import CircuitBreaker, CircuitOpen

# In seconds. A request waits once for the cache and once for the broker, together less than half a second.
TIMEOUTS = {"socket_timeout": 0.15, "socket_connect_timeout": 0.15}
PAUSE_SECONDS = 1.0
OUTAGES = (exceptions.ConnectionError, exceptions.TimeoutError, CircuitOpen)


class ImpatientRedis(Redis):
    """A Redis client with a circuit breaker per server, which all clients of the process share."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        server = self.connection_pool.connection_kwargs
        self._breaker = _get_breaker(server.get("host"), server.get("port"), server.get("path"))

    def execute_command(self, *args: Any, **options: Any) -> Any:
        return self._breaker.call(super().execute_command, *args, **options)


@cache
def _get_breaker(host: str | None, port: int | None, path: str | None) -> CircuitBreaker:
    return CircuitBreaker(PAUSE_SECONDS, (exceptions.ConnectionError, exceptions.TimeoutError))


def connect(url: str) -> ImpatientRedis:
    return ImpatientRedis(connection_pool=ConnectionPool.from_url(url, **TIMEOUTS))
