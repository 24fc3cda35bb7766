"""Log lines: one per record, with the id of the request they belong to, and without secrets."""

import logging
import re
from contextvars import ContextVar

request_id: ContextVar[str] = ContextVar("request_id", default="-")

# Access tokens, and the values of anything that calls itself a secret.
_TOKEN = re.compile(r"bko_[\w-]{8,}")
_NAMED = re.compile(r"(?i)((?:password|secret|token|authorization|hmac)[\"']?\s*[:=]\s*[\"']?)[^\s\"',;&]+")


def redact(text: str) -> str:
    """The text without what must not be read in a log."""
    return _NAMED.sub(r"\1[redacted]", _TOKEN.sub("bko_[redacted]", text))


class LineFormatter(logging.Formatter):
    """``time level logger [request id] message``, redacted."""

    def __init__(self) -> None:
        """UTC times with a zone mark."""
        super().__init__("%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s", "%Y-%m-%dT%H:%M:%S%z")

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        record.request_id = request_id.get()
        return redact(super().format(record))


def logging_to_console(level: str) -> dict[str, object]:
    """Django's ``LOGGING``: everything from a level on, a line per record, on standard error."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": LineFormatter}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            "django.server": {"handlers": ["console"], "level": "INFO", "propagate": False},
            # Refusals are answers, not incidents.
            "django.request": {"level": "ERROR"},
            "django.security.DisallowedHost": {"level": "ERROR"},
        },
    }
