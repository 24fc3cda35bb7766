"""The doors of pages that lie outside of every shop: who comes in, and with what."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from apps.panel.access import lacks_second_factor, note_visit
from apps.panel.error_pages import second_factor_required
from apps.staff.domain.access import two_factor_still_due
from apps.staff.models import User

P = ParamSpec("P")


def staff_only(
    view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """A view outside of every shop that needs a login, with the second factor where there is one."""

    @wraps(view)
    def checked(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if isinstance(request.user, User) and not lacks_second_factor(request):
            note_visit(request)
            return view(request, *args, **kwargs)
        if request.user.is_authenticated:
            logout(request)
        return redirect_to_login(request.get_full_path(), settings.LOGIN_URL)

    return checked


def full_staff_only(
    view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """As ``staff_only``; where the installation requires a second factor, it must be there."""

    @wraps(view)
    def checked(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        day = two_factor_still_due(cast("User", request.user), None)
        if day and day <= timezone.localdate():
            return second_factor_required(request, day)
        return view(request, *args, **kwargs)

    return staff_only(checked)
