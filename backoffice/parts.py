"""Whether what the settings name can be reached, asked once before a start by hand."""

from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import DatabaseError, connection

SECONDS = 3


def require() -> None:
    """Try the database, the broker, the cache and the file storage.

    Raises:
        ImproperlyConfigured: One of them does not answer; the sentence names its variable.
    """
    for variable, check in (
        ("DATABASE_URL", _database),
        ("BROKER_URL", _broker),
        ("CACHE_URL", _cache),
        ("STORAGE_URL", _storage),
    ):
        try:
            check()
        except Exception as error:
            # Each part has a client with errors of its own.
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise ImproperlyConfigured(f"{variable}: {_shown(variable)} cannot be used ({reason}).") from error


def _shown(variable: str) -> str:
    """Where the part is said to be, without its password."""
    if variable == "DATABASE_URL":
        values = connection.settings_dict
        return f"the database {values['NAME']}" + (f" at {values['HOST']}" if values["HOST"] else "")
    if variable == "STORAGE_URL":
        return "the bucket"
    parts = urlsplit(settings.BROKER_URL if variable == "BROKER_URL" else settings.CACHE_URL)
    return f"{parts.scheme}://{parts.hostname or ''}" + (f":{parts.port}" if parts.port else "")


def _database() -> None:
    try:
        connection.ensure_connection()
    except DatabaseError:
        connection.close()
        raise


def _broker() -> None:
    if settings.BROKER_URL.startswith(("filesystem:", "memory:")):
        return
    from backoffice.celery import app

    with app.connection_for_write(connect_timeout=SECONDS) as broker:
        broker.ensure_connection(max_retries=1, timeout=SECONDS)


def _cache() -> None:
    if not settings.CACHE_URL:
        return
    import redis

    redis.Redis.from_url(settings.CACHE_URL, socket_timeout=SECONDS, socket_connect_timeout=SECONDS).ping()


def _storage() -> None:
    if not isinstance(default_storage, FileSystemStorage):
        default_storage.exists("backoffice-is-there")
