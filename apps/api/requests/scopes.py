"""Check the access scope that a route requires."""

from apps.api.exceptions import ApiError
from apps.api.requests.authentication import Access

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class ScopeMissing(ApiError):
    """Raised when the app was not granted the scope."""

    status = 403

    def __init__(self, scope: str) -> None:
        """Create the error for the missing scope."""
        super().__init__(f"[API] This action requires merchant approval for {scope} scope.")


def check_scope(access: Access, needed: tuple[str, ...]) -> None:
    """Check that the caller has at least one of the required scopes, if any scope is required.

    Raises:
        ScopeMissing: The caller has none of the scopes. The message contains the first scope.
    """
    if needed and not any(scope in access.granted_scopes for scope in needed):
        raise ScopeMissing(needed[0])
