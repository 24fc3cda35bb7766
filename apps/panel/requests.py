"""A request inside of a shop's panel, and the words that its screens share."""

from datetime import date, datetime
from typing import Any, TypeAlias, TypedDict, cast

from django.http import HttpRequest

from apps.ground.errors import DomainError
from apps.shops.models import Shop
from apps.staff.models import User

# What a template shows, by name.
Context: TypeAlias = dict[str, Any]


class StaffRequest(HttpRequest):
    """What ``ShopMiddleware`` makes of a request of somebody who works in the shop.

    Attributes:
        two_factor_due: The day from which the person needs a second factor, if they have none.
        panel_refusal: What a service answered to this form a moment ago.
    """

    user: User
    shop: Shop
    two_factor_due: date | None
    panel_refusal: DomainError | None


class By(TypedDict):
    """Who does something, and when: what every service is told."""

    actor: str
    at: datetime


def in_shop(request: HttpRequest) -> StaffRequest:
    """The request of a page inside of a shop; Django's own signatures do not know that it is one."""
    return cast("StaffRequest", request)


def shop_of(request: HttpRequest) -> Shop | None:
    """The shop that the request is in; None outside of every shop."""
    return getattr(request, "shop", None)
