"""View decorators for staff pages that do not belong to a shop."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from apps.core.admin.pages.error_pages import render_second_factor_required
from apps.core.admin.permissions import is_second_factor_missing, record_session_use
from apps.core.tenancy.models import User
from apps.core.tenancy.staff_access import get_two_factor_deadline

P = ParamSpec("P")


def staff_required(
    view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Require a login, with the second factor if the user has one."""

    @wraps(view)
    def wrapper(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if isinstance(request.user, User) and not is_second_factor_missing(request):
            record_session_use(request)
            return view(request, *args, **kwargs)
        if request.user.is_authenticated:
            logout(request)
        return redirect_to_login(request.get_full_path(), settings.LOGIN_URL)

    return wrapper


def staff_with_required_factor(
    view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Require a login and, if the installation demands it, a second factor."""

    @wraps(view)
    def wrapper(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        day = get_two_factor_deadline(cast("User", request.user), None)
        if day and day <= timezone.localdate():
            return render_second_factor_required(request, day)
        return view(request, *args, **kwargs)

    return staff_required(wrapper)
