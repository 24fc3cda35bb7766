"""The context of resolvers: who calls, at which version and time."""

from dataclasses import dataclass
from datetime import datetime

from apps.core.rest.requests.authentication import Access
from apps.core.tenancy.models import Shop


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller, API version and time of a request that runs in the shop's scope."""

    access: Access
    version: str
    at: datetime

    @property
    def shop(self) -> Shop:
        return self.access.shop

    @property
    def actor(self) -> str:
        return self.access.actor
