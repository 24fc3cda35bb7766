"""What a caller may do: the scope that each route asks for.

Rule: decisions, Access.
"""

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

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


class HasScope(BasePermission):
    """The same as a permission class, for views that DRF itself dispatches."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Whether the caller may; raises ``ScopeMissing`` where not."""
        check_scope(view.access, view.scopes_for(request.method or "GET"))
        return True
