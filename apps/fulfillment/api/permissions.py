"""Check whether an app's access scopes cover the location of a fulfillment order."""

from collections.abc import Mapping
from typing import ClassVar

from apps.api.exceptions import ApiError
from apps.api.requests.scopes import SAFE_METHODS, ScopeMissing
from apps.api.requests.views import ApiView
from apps.fulfillment.domain import scope_filter
from apps.fulfillment.domain.scope_filter import READ, Scope
from apps.fulfillment.domain.states import Side
from apps.inventory.models import Location

MERCHANT_SIDE = (Scope.MERCHANT.write, Scope.OTHERS.write)
MERCHANT_SIDE_AT_SERVICES = (Scope.OTHERS.write,)
WORKER_SIDE = (Scope.MERCHANT.write, Scope.OWN.write)
SERVICE_SIDE = (Scope.OWN.write,)


class OtherAppsService(ApiError):
    """Raised when the location belongs to another app's fulfillment service."""

    status = 403

    def __init__(self) -> None:
        super().__init__("[API] The location belongs to the fulfillment service of another app.")


class LocationScopedView(ApiView):
    """A view of rows with a location. An app only sees rows at locations that the app's access scopes cover.

    Attributes:
        sides: The scopes that allow each action, keyed by action. ``require_side`` also checks the scope for the row's
            location.
    """

    sides: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def get_scopes(self, method: str) -> tuple[str, ...]:
        """Return the scopes that allow the request. The app needs only one of these scopes."""
        action = getattr(self, "action", None) or ""
        if action in self.sides:
            return self.sides[action]
        return READ if method in SAFE_METHODS else scope_filter.WRITE

    def require_side(self, location: Location, side: Side) -> None:
        """Check that the app may act for a side at a location.

        Raises:
            ScopeMissing: The app lacks the scope that the location requires.
            OtherAppsService: Only another app may act for this side.
        """
        scope = scope_filter.get_required_scope(location, self.access.installation.app_id, side)
        if scope is None:
            raise OtherAppsService
        if scope.write not in self.access.granted_scopes:
            raise ScopeMissing(scope.write)
