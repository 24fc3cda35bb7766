"""What both floors share: a connection per thread, the token check, routes, answers."""

import hashlib
import os
import threading
from collections.abc import Callable, Iterable
from typing import Any

import orjson
import psycopg
from psycopg.adapt import Loader
from psycopg.pq import Format

PREFIX = "/admin/api/2026-07/"
TOKEN = """
SELECT t.shop_id FROM shops_accesstoken t JOIN shops_installation i ON i.id = t.installation_id
WHERE t.digest = %s AND t.revoked_at IS NULL AND i.uninstalled_at IS NULL
    AND (t.expires_at IS NULL OR t.expires_at > now())
"""
_thread = threading.local()

List = Callable[[int], bytes]
One = Callable[[int, int], bytes | None]
Create = Callable[[int, dict[str, Any]], bytes]


class _Bytes(Loader):
    """JSON and text as the server sent them."""

    format = Format.TEXT

    def load(self, data: Any) -> bytes:
        return bytes(data)


def connection() -> psycopg.Connection[Any]:
    """This thread's own lasting connection."""
    found: psycopg.Connection[Any] | None = getattr(_thread, "connection", None)
    if found is None:
        found = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True, prepare_threshold=0)
        found.execute("SET timezone = 'UTC'")
        found.execute("SET plan_cache_mode = force_generic_plan")
        for name in ("json", "text"):
            found.adapters.register_loader(name, _Bytes)
        _thread.connection = found
    return found


def fetch(sql: str, *values: Any) -> Any:
    """The first row of a prepared statement."""
    return connection().execute(sql, values, prepare=True).fetchone()


class Resource:
    """What a floor answers for one resource; a missing part is not measured."""

    def __init__(self, name: str, *, many: List, one: One | None = None, create: Create | None = None) -> None:
        self.many, self.one, self.create = many, one, create
        self.path = f"{PREFIX}{name}.json"
        self.prefix = f"{PREFIX}{name}/"


def serve(*resources: Resource) -> Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]:
    """The WSGI application of some resources."""
    lists = {resource.path: resource for resource in resources}

    def application(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        status, body = answer(environ)
        headers = [("Content-Type", "application/json; charset=utf-8"), ("Content-Length", str(len(body)))]
        start(status, headers)
        return [body]

    def answer(environ: dict[str, Any]) -> tuple[str, bytes]:
        token = environ.get("HTTP_X_PLATFORM_ACCESS_TOKEN", "")
        door = fetch(TOKEN, hashlib.sha256(token.encode()).hexdigest())
        if door is None:
            return "401 Unauthorized", b'{"errors":"Unauthorized"}'
        path: str = environ["PATH_INFO"]
        resource = lists.get(path)
        if resource is not None:
            if environ["REQUEST_METHOD"] == "POST" and resource.create is not None:
                length = int(environ.get("CONTENT_LENGTH") or 0)
                return "201 Created", resource.create(door[0], orjson.loads(environ["wsgi.input"].read(length)))
            return "200 OK", resource.many(door[0])
        for resource in resources:
            if path.startswith(resource.prefix) and resource.one is not None:
                found = resource.one(door[0], int(path[len(resource.prefix) : -len(".json")]))
                if found is not None:
                    return "200 OK", found
        return "404 Not Found", b'{"errors":"Not Found"}'

    return application
