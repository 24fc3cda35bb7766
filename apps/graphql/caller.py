"""What resolvers know of a request."""

from dataclasses import dataclass
from datetime import datetime

from apps.api.requests.authentication import Access
from apps.shops.models import Shop


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, in which version, and when; the shop's scope is open around it."""

    access: Access
    version: str
    at: datetime

    @property
    def shop(self) -> Shop:
        """The shop that the token belongs to."""
        return self.access.shop

    @property
    def actor(self) -> str:
        """The caller's name in the audit trail."""
        return self.access.actor
