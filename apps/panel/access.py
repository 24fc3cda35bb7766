"""What a request may do, and what its person lacks; who comes in at all."""

from allauth.account.authentication import get_authentication_records
from allauth.mfa.utils import is_mfa_enabled
from allauth.usersessions.models import UserSession
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.ground.locks import unless_busy
from apps.staff.domain import sessions


class MissingPermission(PermissionDenied):
    """The user lacks a Django permission that this page needs."""

    def __init__(self, *permissions: str) -> None:
        """Any one of the permissions would do."""
        super().__init__(_("This needs {permissions}.").format(permissions=_(" or ").join(permissions)))
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


def note_visit(request: HttpRequest) -> None:
    """Note that the session of this request is in use, and from where; reading a page waits for no writer."""
    key, address = request.session.session_key, request.META.get("REMOTE_ADDR")
    if not key or not address or not sessions.is_due(key):
        return
    agent = request.META.get("HTTP_USER_AGENT", "")

    def note() -> None:
        if not sessions.note_seen(key, address=address, agent=agent, at=timezone.now()):
            # A session from before sessions were listed.
            UserSession.objects.create_from_request(request)

    unless_busy(note)
