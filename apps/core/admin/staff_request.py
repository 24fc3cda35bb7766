"""The request type of the panel and shared type aliases."""

from datetime import date, datetime
from typing import Any, TypeAlias, TypedDict, cast

from django.http import HttpRequest

from apps.core.exceptions import DomainError
from apps.core.tenancy.models import Shop, User

# The values of a template context, keyed by name.
Context: TypeAlias = dict[str, Any]


class StaffRequest(HttpRequest):
    """A request inside a shop, prepared by ``ShopMiddleware``, with the error that this form's submission raised."""

    user: User
    shop: Shop
    two_factor_due: date | None
    domain_error: DomainError | None


class EventKwargs(TypedDict):
    actor: str
    at: datetime


def as_staff_request(request: HttpRequest) -> StaffRequest:
    return cast("StaffRequest", request)


def get_request_shop(request: HttpRequest) -> Shop | None:
    return getattr(request, "shop", None)
