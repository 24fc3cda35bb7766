"""Define the errors for outgoing requests. The messages are short enough for form errors and log lines."""

from typing import ClassVar

from django.utils.translation import gettext_noop

from apps.ground.error_messages import larger_than


class HttpRequestFailed(Exception):
    """Raised when no usable response was received. The message contains no internal names or addresses."""

    code: ClassVar[str] = "failed"


class HttpRequestRefused(HttpRequestFailed):
    """Raised when the SSRF guard refuses a request."""

    code = "blocked_address"


class TimedOut(HttpRequestFailed):
    """Raised when the time limit for connecting or for the whole call is exceeded."""

    code = "timeout"

    def __init__(self) -> None:
        super().__init__(gettext_noop("timed out"))


class Unreachable(HttpRequestFailed):
    """Raised when no connection is possible, e.g. because of an unknown name or an invalid certificate."""

    code = "unreachable"


class BadResponse(HttpRequestFailed):
    """Raised when the response is not valid HTTP or exceeds a limit."""

    code = "bad_answer"


class BadStatus(HttpRequestFailed):
    """Raised when the response has an unexpected status."""

    code = "bad_status"

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


class TooLarge(HttpRequestFailed):
    """Raised when the body is larger than the limit."""

    code = "too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(larger_than(limit))


class MessageRejected(HttpRequestFailed):
    """Raised when a message broker or event bus rejects a message."""

    code = "not_taken"
