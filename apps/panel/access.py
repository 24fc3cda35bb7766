"""What a request may do, and what its person lacks; who comes in at all."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from allauth.account.authentication import get_authentication_records
from allauth.mfa.utils import is_mfa_enabled
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from apps.staff.domain import sessions
from apps.staff.models import User

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


def lacks_second_factor(request: HttpRequest) -> bool:
    """Whether the user has set up a second factor and this session was opened without it.

    The login asks for it already; this also stops sessions that came about in any other way, or before it was set up.
    """
    records = get_authentication_records(request, request.user)
    if any(record.get("method") == "mfa" for record in records):
        return False
    return bool(is_mfa_enabled(request.user))


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


def note_visit(request: HttpRequest) -> None:
    """Note that the session of this request is in use, and from where."""
    key, address = request.session.session_key, request.META.get("REMOTE_ADDR")
    if not key or not address or not sessions.is_due(key):
        return
    agent = request.META.get("HTTP_USER_AGENT", "")
    if not sessions.note_seen(key, address=address, agent=agent, at=timezone.now()):
        # A session from before sessions were listed.
        UserSession.objects.create_from_request(request)
