"""What the audit trail, whose rows are never changed, keeps of a person: that a value changed, and not what it was."""

from typing import Any

HIDDEN = "(hidden)"


def hidden(before: Any, after: Any) -> list[Any]:
    """A change of personal data as the audit trail may keep it; blank stays blank."""
    return [HIDDEN if value else value for value in (before, after)]
