"""Log formatters that write one line per record. A line contains the ID of the request or job, but no secrets.

``BACKOFFICE_LOG_FORMAT`` selects plain lines for people or JSON objects for log collectors.
"""

import logging
import re
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson

from apps.core.events.context import get_event_context, request_id

if TYPE_CHECKING:
    from django.http import HttpRequest

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
FORMATS = ("LINE", "JSON")

# The current request, from which log records get the IDs of shop, app and staff member.
current_request: "ContextVar[HttpRequest | None]" = ContextVar("current_request", default=None)

# These patterns match access tokens and secrets of apps, account activation links, and values with a secret-like name.
_TOKEN = re.compile(r"(bk[os]_)[\w-]{8,}")
_ACTIVATION_LINK = re.compile(r"(/account/activate/[^/\s]+/\d+/)[^\s\"'?>]+")
_NAMED_SECRET = re.compile(r"(?i)((?:password|secret|token|authorization|hmac)[\"']?\s*[:=]\s*[\"']?)[^\s\"',;&]+")


def redact_secrets(text: str) -> str:
    """Return the text with all secrets replaced by ``[redacted]``."""
    for secret in (_TOKEN, _ACTIVATION_LINK, _NAMED_SECRET):
        text = secret.sub(r"\1[redacted]", text)
    return text


def get_current_id() -> str:
    """Return the ID of the current request or, outside a request, of the current job. Otherwise, return ``-``."""
    current = request_id.get()
    return current if current != "-" else get_event_context().request_id or "-"


def get_actor_ids(request: "HttpRequest | None") -> dict[str, object]:
    """Return the IDs of the request's ``shop``, and of the ``app`` or the ``staff`` member that sent the request.

    Unknown IDs are omitted. Outside a request, ``shop`` is the shop of the current scope.
    """
    from django_scopes import get_scope

    access = getattr(request, "auth", None)
    # Use the user that Django has cached, because a log call must not query the database.
    user = getattr(request, "_cached_user", None)
    shop = getattr(request, "shop", None) or getattr(access, "shop", None) or get_scope().get("shop")
    ids = {
        "shop": getattr(shop, "pk", None),
        "app": access.installation.app_id if access is not None else None,
        "staff": getattr(user, "pk", None),
    }
    return {name: value for name, value in ids.items() if value is not None}


def drop_traceback_of_client_errors(record: logging.LogRecord) -> bool:
    """Remove the traceback from records about refused requests, such as unknown hosts. Clients cause any number."""
    if record.name.startswith("django.security."):
        record.exc_info = record.exc_text = None
    return True


class LineFormatter(logging.Formatter):
    """Formats a record as ``time level logger [request ID] message``, without secrets."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s", "%Y-%m-%dT%H:%M:%S%z")

    def format(self, record: logging.LogRecord) -> str:
        record.request_id = get_current_id()
        return redact_secrets(super().format(record))


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object, without secrets.

    The keys are ``time`` (RFC 3339, UTC), ``level``, ``logger``, ``message``, ``request_id`` (or the key of a job),
    ``shop``, ``app`` and ``staff`` if known, ``error`` (the traceback), and the record's ``fields``.
    """

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": redact_secrets(record.getMessage()),
            "request_id": get_current_id(),
            **get_actor_ids(current_request.get()),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            entry["error"] = redact_secrets(self.formatException(record.exc_info))
        return orjson.dumps(entry, default=str).decode()


def get_logging_settings(level: str, form: str = "LINE") -> dict[str, object]:
    """Return Django's ``LOGGING`` setting, which writes to standard error. ``form`` is one of ``FORMATS``."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"chosen": {"()": JsonFormatter if form == "JSON" else LineFormatter}},
        "filters": {"client_errors": {"()": lambda: drop_traceback_of_client_errors}},
        "handlers": {
            "console": {"class": "logging.StreamHandler", "formatter": "chosen", "filters": ["client_errors"]}
        },
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            "django.server": {"handlers": ["console"], "level": "INFO", "propagate": False},
            # Never log Django at DEBUG, because it would log every template variable.
            "django.template": {"level": max(level, "INFO", key=logging.getLevelName)},
            # Log only server errors, because client errors need no attention.
            "django.request": {"level": "ERROR"},
            "django.security.DisallowedHost": {"level": "ERROR"},
            # These libraries log each step of writing a PDF file.
            "fontTools": {"level": "WARNING"},
            "fpdf": {"level": "WARNING"},
            # A separate setting enables the access log, independently of the level.
            "backoffice.access": {"level": "INFO"},
        },
    }
