"""Which fulfillment orders an app sees, and which side of their dialogue it stands on.

Rule: spec part B, Fulfillment order scopes; decisions, Access.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum

from django.db.models import Q

from apps.events.domain.topics import Hears
from apps.fulfillment.domain.states import Side
from apps.inventory.models import Location


class Scope(StrEnum):
    """The words of the three pairs of scopes, by who manages the location."""

    MERCHANT = "merchant_managed_fulfillment_orders"
    OWN = "assigned_fulfillment_orders"
    OTHERS = "third_party_fulfillment_orders"

    @property
    def read(self) -> str:
        """The scope that reads."""
        return f"read_{self.value}"

    @property
    def write(self) -> str:
        """The scope that writes, and reads."""
        return f"write_{self.value}"


READ = tuple(scope.read for scope in Scope)
WRITE = tuple(scope.write for scope in Scope)


def visible(granted: Collection[str], app_id: int, path: str = "assigned_location") -> Q:
    """The rows whose location the scopes of an app cover.

    Args:
        granted: The app's scopes.
        app_id: The app.
        path: The ORM path of the location.
    """
    legacy, app = f"{path}__legacy", f"{path}__service__app_id"
    own = Q(**{legacy: True, app: app_id})
    by_scope = {
        Scope.MERCHANT: Q(**{legacy: False}),
        Scope.OWN: own,
        Scope.OTHERS: Q(**{legacy: True}) & (~Q(**{app: app_id}) | Q(**{f"{app}__isnull": True})),
    }
    found = Q(pk__in=[])
    for scope, rows in by_scope.items():
        if scope.read in granted:
            found |= rows
    return found


def scope_of(location: Location, app_id: int) -> Scope:
    """The pair of scopes that covers a location for an app; its service is loaded."""
    if not location.legacy:
        return Scope.MERCHANT
    service = getattr(location, "service", None)
    return Scope.OWN if service is not None and service.app_id == app_id else Scope.OTHERS


def needed(location: Location, app_id: int, side: Side) -> Scope | None:
    """The pair of scopes whose writing one an app needs to take a side; None where the side is another app's.

    At a service's location the merchant's side is for apps that manage orders at services, the worker's side for the
    service's own app alone.
    """
    scope = scope_of(location, app_id)
    if side is Side.MERCHANT:
        return Scope.MERCHANT if scope is Scope.MERCHANT else Scope.OTHERS
    return None if scope is Scope.OTHERS else scope


def hears(*names: str) -> Hears:
    """Whether an app sees what an event tells of; ``names`` lead to the payload's member with the location's id."""

    def may(payload: Mapping[str, object], app_id: int, granted: Collection[str]) -> bool:
        found: object = payload
        for name in names:
            found = found.get(name) if isinstance(found, Mapping) else None
        location = Location.objects.select_related("service").filter(pk=str(found or 0)).first()
        return location is not None and scope_of(location, app_id).read in granted

    return may
