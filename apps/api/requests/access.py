"""What a caller may do: the scope that each route asks for.

Rule: decisions, Access.
"""

from apps.api.errors import ApiError
from apps.api.requests.authentication import Access

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class ScopeMissing(ApiError):
    """The app was not granted the scope."""

    status = 403

    def __init__(self, scope: str) -> None:
        """Name the scope that is missing."""
        super().__init__(f"[API] This action requires merchant approval for {scope} scope.")


def check_scope(access: Access, needed: tuple[str, ...]) -> None:
    """Let a caller pass that holds one of the needed scopes; any may where none is needed.

    Raises:
        ScopeMissing: It holds none of them; the first is named.
    """
    if needed and not any(scope in access.granted for scope in needed):
        raise ScopeMissing(needed[0])
