"""Check at startup that the services in the settings are reachable."""

from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import DatabaseError, connection

TIMEOUT_SECONDS = 3


def check_services() -> None:
    """Raise ``ImproperlyConfigured`` with the name of the environment variable if a service is not reachable."""
    for variable, check in (
        ("DATABASE_URL", _check_database),
        ("BROKER_URL", _check_broker),
        ("CACHE_URL", _check_cache),
        ("STORAGE_URL", _check_storage),
    ):
        try:
            check()
        except Exception as error:
            # Every client library raises its own exceptions.
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise ImproperlyConfigured(f"{variable}: {_describe(variable)} is not available ({reason}).") from error


def _describe(variable: str) -> str:
    """Return the location of a service, without the password."""
    if variable == "DATABASE_URL":
        values = connection.settings_dict
        return f"the database {values['NAME']}" + (f" at {values['HOST']}" if values["HOST"] else "")
    if variable == "STORAGE_URL":
        return "the bucket"
    parts = urlsplit(settings.BROKER_URL if variable == "BROKER_URL" else settings.CACHE_URL)
    return f"{parts.scheme}://{parts.hostname or ''}" + (f":{parts.port}" if parts.port else "")


def _check_database() -> None:
    try:
        connection.ensure_connection()
    except DatabaseError:
        connection.close()
        raise


def _check_broker() -> None:
    if settings.BROKER_URL.startswith(("filesystem:", "memory:")):
        return
    from backoffice.celery import app

    timeouts = {"socket_timeout": TIMEOUT_SECONDS, "socket_connect_timeout": TIMEOUT_SECONDS}
    options = timeouts if settings.BROKER_URL.startswith("redis") else {}
    with app.connection_for_write(connect_timeout=TIMEOUT_SECONDS, transport_options=options) as broker:
        broker.ensure_connection(max_retries=1, timeout=TIMEOUT_SECONDS)


def _check_cache() -> None:
    if not settings.CACHE_URL:
        return
    import redis

    timeouts = {"socket_timeout": TIMEOUT_SECONDS, "socket_connect_timeout": TIMEOUT_SECONDS}
    redis.Redis.from_url(settings.CACHE_URL, **timeouts).ping()


def _check_storage() -> None:
    if not isinstance(default_storage, FileSystemStorage):
        default_storage.exists("backoffice-is-there")
