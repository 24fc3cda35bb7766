"""The request type of the panel and shared type aliases."""

from datetime import date, datetime
from typing import Any, TypeAlias, TypedDict, cast

from django.http import HttpRequest

from apps.core.exceptions import DomainError
from apps.core.tenancy.models import Shop, User

# The values of a template context, keyed by name.
Context: TypeAlias = dict[str, Any]


class StaffRequest(HttpRequest):
    """A request inside a shop, prepared by ``ShopMiddleware``.

    Attributes:
        two_factor_due: The day from which the user needs a second factor, or None if there is no deadline.
        domain_error: The domain error that this form's submission raised.
    """

    user: User
    shop: Shop
    two_factor_due: date | None
    domain_error: DomainError | None


class EventKwargs(TypedDict):
    """The keyword arguments for domain functions that record events: actor and time."""

    actor: str
    at: datetime


def as_staff_request(request: HttpRequest) -> StaffRequest:
    """Cast a request to ``StaffRequest``, because Django's type hints always use ``HttpRequest``."""
    return cast("StaffRequest", request)


def get_request_shop(request: HttpRequest) -> Shop | None:
    """Return the shop of the request, or None for a page that does not belong to a shop."""
    return getattr(request, "shop", None)
