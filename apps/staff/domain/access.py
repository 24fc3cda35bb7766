"""Who may enter, and what somebody lacks who may not."""

from collections.abc import Callable
from datetime import date
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from allauth.account.authentication import get_authentication_records
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase

from apps.ground.tenancy import every_shop
from apps.shops.models import Shop
from apps.staff.domain.sessions import note_visit
from apps.staff.models import Membership, User

P = ParamSpec("P")


class MissingPermission(PermissionDenied):
    """The user lacks a Django permission that this page needs."""

    def __init__(self, *permissions: str) -> None:
        """Any one of the permissions would do."""
        super().__init__(f"This needs {' or '.join(permissions)}.")
        self.permissions = permissions


def require(request: HttpRequest, *permissions: str) -> None:
    """Refuse unless the user holds one of the permissions in this shop.

    Raises:
        MissingPermission: They hold none.
    """
    if not may(request, *permissions):
        raise MissingPermission(*permissions)


def may(request: HttpRequest, *permissions: str) -> bool:
    """Whether the user holds one of the permissions in this shop."""
    return any(request.user.has_perm(permission) for permission in permissions)


def shops_of(user: User) -> QuerySet[Shop]:
    """The shops that a user may enter; for operators all of them."""
    shops: QuerySet[Shop] = Shop.objects.all()
    if user.is_superuser:
        return shops
    with every_shop():
        places = Membership.objects.filter(user=user).values("shop_id")
    return shops.filter(pk__in=places)


def lacks_second_factor(request: HttpRequest) -> bool:
    """Whether the user has set up a second factor and this session was opened without it.

    The login asks for it already; this also stops sessions that came about in any other way, or before it was set up.
    """
    records = get_authentication_records(request, request.user)
    if any(record.get("method") == "mfa" for record in records):
        return False
    return bool(is_mfa_enabled(request.user))


def two_factor_day(shop: Shop | None) -> date | None:
    """The day from which a second factor is required: the installation's or the shop's, whichever is sooner."""
    days = (settings.TWO_FACTOR_FROM, shop.two_factor_from if shop else None)
    return min((day for day in days if day), default=None)


def two_factor_still_due(user: User, shop: Shop | None) -> date | None:
    """The day from which this person cannot go on without a second factor; None where they have one or need none.

    Whether the day has come, the caller asks in the shop's time zone.
    """
    day = two_factor_day(shop)
    return day if day and not is_mfa_enabled(user) else None


def staff_only(
    view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """A view outside of every shop that needs a login, with the second factor where there is one."""

    @wraps(view)
    def checked(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if isinstance(request.user, User) and not lacks_second_factor(request):
            note_visit(request)
            return view(request, *args, **kwargs)
        if request.user.is_authenticated:
            logout(request)
        return redirect_to_login(request.get_full_path(), settings.LOGIN_URL)

    return cast("Callable[Concatenate[HttpRequest, P], HttpResponseBase]", checked)
