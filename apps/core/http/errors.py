"""Define the errors for outgoing requests. The messages are short enough for form errors and log lines."""

from typing import ClassVar

from apps.core.i18n.error_messages import larger_than
from apps.core.i18n.messages import define_message, define_text

# Why a request failed. Attempts store these messages.
ADDRESS_NOT_ALLOWED = define_text("http.address_not_allowed", "address not allowed")
URL_NOT_ALLOWED = define_text("http.url_not_allowed", "the URL is not allowed")
INVALID_CERTIFICATE = define_text("http.invalid_certificate", "invalid certificate")
NO_SECURE_CONNECTION = define_text("http.no_secure_connection", "secure connection failed")
HOST_NOT_FOUND = define_text("http.host_not_found", "host not found")
CONNECTION_FAILED = define_text("http.connection_failed", "connection failed")
INVALID_RESPONSE = define_text("http.invalid_response", "invalid response")
CONNECTION_RESET = define_text("http.connection_reset", "connection reset")
TIMED_OUT = define_text("http.timed_out", "timed out")
TOO_MANY_REDIRECTS = define_text("http.too_many_redirects", "too many redirects")
COMPRESSED_RESPONSE = define_text("http.compressed_response", "compressed response")
INVALID_REDIRECT = define_text("http.invalid_redirect", "redirect to an invalid URL")
TOO_MUCH_DATA = define_text("http.too_much_data", "too much data outside the response body")
NO_ADDRESS = define_text("http.no_address", "no IP address found")
_STATUS = define_message("http.status", "status {status}")


class HttpRequestFailed(Exception):
    """Raised when no usable response was received. The message contains no internal names or addresses."""

    code: ClassVar[str] = "failed"


class HttpRequestRefused(HttpRequestFailed):
    """Raised when the SSRF guard refuses a request."""

    code = "blocked_address"


class TimedOut(HttpRequestFailed):
    code = "timeout"

    def __init__(self) -> None:
        super().__init__(TIMED_OUT)


class Unreachable(HttpRequestFailed):
    """Raised when no connection is possible, e.g. because of an unknown name or an invalid certificate."""

    code = "unreachable"


class BadResponse(HttpRequestFailed):
    """Raised when the response is not valid HTTP or exceeds a limit."""

    code = "bad_answer"


class BadStatus(HttpRequestFailed):
    code = "bad_status"

    def __init__(self, status: int) -> None:
        super().__init__(_STATUS(status=status))
        self.status = status


class TooLarge(HttpRequestFailed):
    code = "too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(larger_than(limit))


class MessageRejected(HttpRequestFailed):
    """Raised when a message broker or event bus rejects a message."""

    code = "not_taken"
