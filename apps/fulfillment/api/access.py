"""What a client may see and do, by its scopes and by who manages the location."""

from collections.abc import Mapping
from typing import ClassVar

from apps.api.errors import ApiError
from apps.api.requests.access import SAFE, ScopeMissing
from apps.api.requests.views import ApiView
from apps.fulfillment.domain import visibility
from apps.fulfillment.domain.states import Side
from apps.fulfillment.domain.visibility import READ, Scope
from apps.inventory.models import Location

MERCHANT_SIDE = (Scope.MERCHANT.write, Scope.OTHERS.write)
AT_SERVICES = (Scope.OTHERS.write,)
WORKER_SIDE = (Scope.MERCHANT.write, Scope.OWN.write)
SERVICE_SIDE = (Scope.OWN.write,)


class AnothersService(ApiError):
    """What only the fulfillment service itself does."""

    status = 403

    def __init__(self) -> None:
        """Say so."""
        super().__init__("[API] The location belongs to the fulfillment service of another app.")


class ScopedByLocation(ApiView):
    """A view whose rows are covered by three pairs of scopes.

    Attributes:
        sides: By action, the scopes of which one is needed at least; the row's location may ask for another.
    """

    sides: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def scopes_for(self, method: str) -> tuple[str, ...]:
        """The scopes of which one is enough to come in."""
        action = getattr(self, "action", None) or ""
        if action in self.sides:
            return self.sides[action]
        return READ if method in SAFE else visibility.WRITE

    def may(self, location: Location, side: Side) -> None:
        """Let a caller pass that may take a side at a location.

        Raises:
            ScopeMissing: It lacks the scope that the location demands.
            AnothersService: That side is another app's.
        """
        scope = visibility.needed(location, self.access.installation.app_id, side)
        if scope is None:
            raise AnothersService
        if scope.write not in self.access.granted:
            raise ScopeMissing(scope.write)
