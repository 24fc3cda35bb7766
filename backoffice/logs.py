"""Log lines: one per record, with the id of the request or job they belong to, and without secrets.

As lines for people, or as JSON objects for what collects logs (``BACKOFFICE_LOG_FORMAT``).
"""

import logging
import re
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson

from apps.events.domain.context import current_cause

if TYPE_CHECKING:
    from django.http import HttpRequest

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
FORMATS = ("LINE", "JSON")

request_id: ContextVar[str] = ContextVar("request_id", default="-")
# The request that is served, to say whose it is.
request_in_work: "ContextVar[HttpRequest | None]" = ContextVar("request_in_work", default=None)

# Tokens and secrets of apps, links that activate an account, and the values of anything that calls itself a secret.
_TOKEN = re.compile(r"(bk[os]_)[\w-]{8,}")
_LINK = re.compile(r"(/account/activate/[^/\s]+/\d+/)[^\s\"'?>]+")
_NAMED = re.compile(r"(?i)((?:password|secret|token|authorization|hmac)[\"']?\s*[:=]\s*[\"']?)[^\s\"',;&]+")


def redact(text: str) -> str:
    """The text without what must not be read in a log."""
    for secret in (_TOKEN, _LINK, _NAMED):
        text = secret.sub(r"\1[redacted]", text)
    return text


def current_id() -> str:
    """The id of the request, else of the job that is being done; ``-`` outside of both."""
    here = request_id.get()
    return here if here != "-" else current_cause().request_id or "-"


def whose(request: "HttpRequest | None") -> dict[str, object]:
    """Whose request it is: the ids of the ``shop``, and of the ``app`` or the ``staff`` account.

    What is not known is left out. Outside of a request it is the shop that the code works for.
    """
    from django_scopes import get_scope

    access = getattr(request, "auth", None)
    # What Django keeps once it has loaded the account; a log line must not ask the database.
    user = getattr(request, "_cached_user", None)
    shop = getattr(request, "shop", None) or getattr(access, "shop", None) or get_scope().get("shop")
    found = {
        "shop": getattr(shop, "pk", None),
        "app": access.installation.app_id if access is not None else None,
        "staff": getattr(user, "pk", None),
    }
    return {name: value for name, value in found.items() if value is not None}


class LineFormatter(logging.Formatter):
    """``time level logger [request id] message``, redacted."""

    def __init__(self) -> None:
        """UTC times with a zone mark."""
        super().__init__("%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s", "%Y-%m-%dT%H:%M:%S%z")

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        record.request_id = current_id()
        return redact(super().format(record))


class JsonFormatter(logging.Formatter):
    """A JSON object per record, redacted.

    ``time`` (RFC 3339, UTC), ``level``, ``logger``, ``message``, ``request_id`` (of a job its key), ``shop``, ``app``
    and ``staff`` where they are known, ``error`` (the traceback), and what the record brings along in ``fields``.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        said: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": redact(record.getMessage()),
            "request_id": current_id(),
            **whose(request_in_work.get()),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            said["error"] = redact(self.formatException(record.exc_info))
        return orjson.dumps(said, default=str).decode()


def logging_to_console(level: str, form: str = "LINE") -> dict[str, object]:
    """Django's ``LOGGING``: everything from a level on, a line per record in one of ``FORMATS``, on standard error."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"chosen": {"()": JsonFormatter if form == "JSON" else LineFormatter}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "chosen"}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            "django.server": {"handlers": ["console"], "level": "INFO", "propagate": False},
            # At DEBUG it prints all that a page was made of.
            "django.template": {"level": max(level, "INFO", key=logging.getLevelName)},
            # Refusals are answers, not incidents.
            "django.request": {"level": "ERROR"},
            "django.security.DisallowedHost": {"level": "ERROR"},
            # Switched on by a setting of its own, whatever the level of the others.
            "backoffice.access": {"level": "INFO"},
        },
    }
