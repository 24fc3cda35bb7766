"""Code that both floors share: a connection per thread, the token check, routes and responses."""

import hashlib
import os
import threading
from collections.abc import Callable, Iterable
from typing import Any

import orjson
import psycopg
from psycopg.adapt import Loader
from psycopg.pq import Format

PREFIX = "/admin/api/2026-10/"
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
    """Loads JSON and text as the bytes that the database sent."""

    format = Format.TEXT

    def load(self, data: Any) -> bytes:
        return bytes(data)


def get_connection() -> psycopg.Connection[Any]:
    """Return this thread's persistent connection."""
    matching_connection: psycopg.Connection[Any] | None = getattr(_thread, "connection", None)
    if matching_connection is None:
        matching_connection = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True, prepare_threshold=0)
        matching_connection.execute("SET timezone = 'UTC'")
        matching_connection.execute("SET plan_cache_mode = force_generic_plan")
        for name in ("json", "text"):
            matching_connection.adapters.register_loader(name, _Bytes)
        _thread.connection = matching_connection
    return matching_connection


def fetch_row(sql: str, *values: Any) -> Any:
    """Return the first row of a prepared statement."""
    return get_connection().execute(sql, values, prepare=True).fetchone()


class Resource:
    """A floor's functions for one resource. Requests without a function are not measured."""

    def __init__(self, name: str, *, list_rows: List, get_row: One | None = None, create: Create | None = None) -> None:
        self.many, self.one, self.create = list_rows, get_row, create
        self.path = f"{PREFIX}{name}.json"
        self.prefix = f"{PREFIX}{name}/"


def create_application(*resources: Resource) -> Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]:
    """Return a WSGI application for these resources."""
    lists = {resource.path: resource for resource in resources}

    def application(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        status, body = answer(environ)
        headers = [("Content-Type", "application/json; charset=utf-8"), ("Content-Length", str(len(body)))]
        start(status, headers)
        return [body]

    def answer(environ: dict[str, Any]) -> tuple[str, bytes]:
        token = environ.get("HTTP_X_PLATFORM_ACCESS_TOKEN", "")
        door = fetch_row(TOKEN, hashlib.sha256(token.encode()).hexdigest())
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
                document = resource.one(door[0], int(path[len(resource.prefix) : -len(".json")]))
                if document is not None:
                    return "200 OK", document
        return "404 Not Found", b'{"errors":"Not Found"}'

    return application
