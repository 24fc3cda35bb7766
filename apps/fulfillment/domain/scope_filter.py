"""Decide which fulfillment orders an app may read, and for which side the app may act."""

from collections.abc import Collection, Mapping
from enum import StrEnum

from django.db.models import Q

from apps.core.events.topics import AudienceCheck
from apps.fulfillment.domain.fulfillment_orders.states import Side
from apps.inventory.models import Location


class Scope(StrEnum):
    """A pair of access scopes (read and write). Which pair applies depends on the manager of the location."""

    MERCHANT = "merchant_managed_fulfillment_orders"
    OWN = "assigned_fulfillment_orders"
    OTHERS = "third_party_fulfillment_orders"

    @property
    def read(self) -> str:
        return f"read_{self.value}"

    @property
    def write(self) -> str:
        """Return the write scope, which includes read access."""
        return f"write_{self.value}"


READ = tuple(scope.read for scope in Scope)
WRITE = tuple(scope.write for scope in Scope)


def get_visible_condition(granted: Collection[str], app_id: int, path: str = "assigned_location") -> Q:
    """Return the condition for rows at locations that an app's scopes cover. ``path`` is the location's ORM path."""
    legacy, app = f"{path}__legacy", f"{path}__service__app_id"
    own = Q(**{legacy: True, app: app_id})
    by_scope = {
        Scope.MERCHANT: Q(**{legacy: False}),
        Scope.OWN: own,
        Scope.OTHERS: Q(**{legacy: True}) & (~Q(**{app: app_id}) | Q(**{f"{app}__isnull": True})),
    }
    condition = Q(pk__in=[])
    for scope, rows in by_scope.items():
        if scope.read in granted:
            condition |= rows
    return condition


def get_scope(location: Location, app_id: int) -> Scope:
    """Return the scope pair that covers a location for an app. The location's service must be loaded."""
    if not location.legacy:
        return Scope.MERCHANT
    service = getattr(location, "service", None)
    return Scope.OWN if service is not None and service.app_id == app_id else Scope.OTHERS


def get_required_scope(location: Location, app_id: int, side: Side) -> Scope | None:
    """Return the scope pair that an app needs to act for a side, or None if only another app may act.

    At a service's location, only the service's app may act for the worker. Any app with the scope for third-party
    fulfillment orders may act for the merchant.
    """
    scope = get_scope(location, app_id)
    if side is Side.MERCHANT:
        return Scope.MERCHANT if scope is Scope.MERCHANT else Scope.OTHERS
    return None if scope is Scope.OTHERS else scope


def create_audience_check(*names: str) -> AudienceCheck:
    """Return a check for events. ``names`` is the path to the location id in the event's payload."""

    def may(payload: Mapping[str, object], app_id: int, granted: Collection[str]) -> bool:
        value: object = payload
        for name in names:
            value = value.get(name) if isinstance(value, Mapping) else None
        location = Location.objects.select_related("service").filter(pk=str(value or 0)).first()
        return location is not None and get_scope(location, app_id).read in granted

    return may
