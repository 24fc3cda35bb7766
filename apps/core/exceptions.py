"""The base classes of domain errors.

A domain error is defined next to the function that raises the error. The REST API responds with the error's
status and messages. The panel shows the messages on the form.
"""

from collections.abc import Iterable, Mapping

from apps.core.i18n.error_messages import NOT_FOUND
from apps.core.i18n.messages import Message, join_errors


class DomainError(Exception):
    """Raised when a business rule does not allow an operation."""

    field = "base"
    status = 422

    def __init__(
        self, message: str | Mapping[str, Iterable[str]], *, field: str | None = None, retry_after: float | None = None
    ) -> None:
        """Create an error with one message for one field, or with several messages as ``{field: [messages]}``."""
        super().__init__(message)
        self._message = message
        self._field = field or self.field
        self.headers = {"Retry-After": str(retry_after)} if retry_after is not None else {}

    @property
    def errors(self) -> dict[str, list[str]]:
        if isinstance(self._message, str):
            return {self._field: [self._message]}
        return {field: list(messages) for field, messages in self._message.items()}

    @property
    def sentence(self) -> Message:
        """Return all messages as one message, with the names of the fields."""
        return join_errors(self.errors)


class RowDeleted(DomainError):
    """Raised when a row was deleted in the meantime. The REST API responds with 404."""

    status = 404

    def __init__(self) -> None:
        super().__init__(NOT_FOUND)


class AccessEnded(DomainError):
    """Raised when the calling app was uninstalled in the meantime. The REST API responds as for a revoked token."""

    status = 401


class TransitionRefused(DomainError):
    """Raised when the current status does not allow the transition."""
