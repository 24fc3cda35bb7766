"""Why an outgoing request failed, in words short enough for a field's error or a log line."""

from typing import ClassVar

from django.utils.translation import gettext_noop

from apps.ground.phrases import larger_than


class FetchFailed(Exception):
    """No usable answer came; the message is the reason, without names or addresses from inside."""

    code: ClassVar[str] = "failed"


class FetchRefused(FetchFailed):
    """The guard did not let the request out."""

    code = "blocked_address"


class TimedOut(FetchFailed):
    """The time for the whole call, or for connecting, was used up."""

    code = "timeout"

    def __init__(self) -> None:
        super().__init__(gettext_noop("timed out"))


class Unreachable(FetchFailed):
    """No connection: the name is unknown, nobody listens, or the certificate does not hold."""

    code = "unreachable"


class BadAnswer(FetchFailed):
    """What came back is not an HTTP answer that we accept."""

    code = "bad_answer"


class BadStatus(FetchFailed):
    """The server answered with another status than the one needed."""

    code = "bad_status"

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


class TooLarge(FetchFailed):
    """The body is larger than the limit."""

    code = "too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(larger_than(limit))


class NotTaken(FetchFailed):
    """A message broker or event bus answered that it did not take what it was given."""

    code = "not_taken"
