"""Check whether an app's access scopes cover the location of a fulfillment order."""

from collections.abc import Mapping
from typing import ClassVar, TypeVar

from django.db.models import Q, QuerySet

from apps.core.rest.exceptions import ApiError
from apps.core.rest.requests.authentication import SAFE_METHODS, ScopeMissing
from apps.core.rest.viewsets import ShopViewSet
from apps.core.tenancy.shop_owned import ShopOwned
from apps.fulfillment.domain import scope_filter
from apps.fulfillment.domain.fulfillment_orders.states import Side
from apps.fulfillment.domain.scope_filter import READ, Scope
from apps.inventory.models import Location

M = TypeVar("M", bound=ShopOwned)

MERCHANT_SIDE = (Scope.MERCHANT.write, Scope.OTHERS.write)
MERCHANT_SIDE_AT_SERVICES = (Scope.OTHERS.write,)
WORKER_SIDE = (Scope.MERCHANT.write, Scope.OWN.write)
SERVICE_SIDE = (Scope.OWN.write,)


class OtherAppsService(ApiError):
    status = 403

    def __init__(self) -> None:
        super().__init__("[API] The location belongs to the fulfillment service of another app.")


class LocationScopedViewSet(ShopViewSet[M]):
    """Views of rows with a location. An app only sees rows at locations that the app's access scopes cover.

    ``sides`` has the scopes that allow each action. ``require_side`` also checks the scope for the row's location.
    """

    sides: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    location_path = "assigned_location"

    def get_scopes(self, method: str) -> tuple[str, ...]:
        action = getattr(self, "action", None) or ""
        if action in self.sides:
            return self.sides[action]
        return READ if method in SAFE_METHODS else scope_filter.WRITE

    @property
    def shows_all_shop_rows(self) -> bool:
        """Return False, because the rows depend on the calling app."""
        return False

    def get_visible_condition(self, path: str = "assigned_location") -> Q:
        return scope_filter.get_visible_condition(self.access.granted_scopes, self.access.installation.app_id, path)

    def get_queryset(self) -> QuerySet[M]:
        return super().get_queryset().filter(self.get_visible_condition(self.location_path))

    def require_side(self, location: Location, side: Side) -> None:
        """Check that the app may act for a side at a location."""
        scope = scope_filter.get_required_scope(location, self.access.installation.app_id, side)
        if scope is None:
            raise OtherAppsService
        if scope.write not in self.access.granted_scopes:
            raise ScopeMissing(scope.write)
