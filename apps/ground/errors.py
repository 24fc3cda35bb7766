"""The base of every anticipated refusal.

A refusal lives beside the function that raises it and says, in its name, what is refused. Faces translate it: REST into
a status and a body, the panel into a message on the form.
"""

from collections.abc import Iterable, Mapping

from apps.ground.phrases import NOT_FOUND


class DomainError(Exception):
    """Something the rules do not allow.

    Attributes:
        code: A stable name for programs.
        field: The field that the message belongs to, where there is just one.
        status: The HTTP status that REST answers with.
    """

    code = "refused"
    field = "base"
    status = 422

    def __init__(
        self, message: str | Mapping[str, Iterable[str]], *, field: str | None = None, retry_after: float | None = None
    ) -> None:
        """Refuse with one message on one field, or with ``{field: [messages]}``."""
        super().__init__(message)
        self._message = message
        self._field = field or self.field
        self.headers = {"Retry-After": str(retry_after)} if retry_after is not None else {}

    @property
    def errors(self) -> dict[str, list[str]]:
        """The messages by field."""
        if isinstance(self._message, str):
            return {self._field: [self._message]}
        return {field: list(messages) for field, messages in self._message.items()}

    @property
    def sentence(self) -> str:
        """All messages as one line for people."""
        return "; ".join(
            message if field == "base" else f"{field} {message}"
            for field, messages in self.errors.items()
            for message in messages
        )


class Gone(DomainError):
    """The row was deleted meanwhile; like one that never was, it is not found."""

    code = "gone"
    status = 404

    def __init__(self) -> None:
        """There is nothing to explain."""
        super().__init__(NOT_FOUND)


class TransitionRefused(DomainError):
    """The state does not allow the move."""

    code = "transition_refused"
