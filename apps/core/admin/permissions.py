from allauth.account.authentication import get_authentication_records
from allauth.mfa.utils import is_mfa_enabled
from allauth.usersessions.models import UserSession
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.core.db.row_locks import run_unless_locked
from apps.core.i18n.messages import define_message
from apps.core.tenancy import sessions

# The event message of a write request that was refused.
REFUSED = define_message("staff.refused", "Was refused: {method} {path}")


class MissingPermission(PermissionDenied):
    """Raised when the user has none of the Django permissions that the page requires."""

    def __init__(self, *permissions: str) -> None:
        super().__init__(_("Required permission: {permissions}.").format(permissions=_(" or ").join(permissions)))
        self.permissions = permissions


def require_permission(request: HttpRequest, *permissions: str) -> None:
    if not has_permission(request, *permissions):
        raise MissingPermission(*permissions)


def has_permission(request: HttpRequest, *permissions: str) -> bool:
    return any(request.user.has_perm(permission) for permission in permissions)


def is_second_factor_missing(request: HttpRequest) -> bool:
    """Return True if the user has a second factor but logged in without it.

    The login form asks for the factor, but sessions may be older than the factor or created without the form.
    """
    records = get_authentication_records(request, request.user)
    if any(record.get("method") == "mfa" for record in records):
        return False
    return bool(is_mfa_enabled(request.user))


def record_session_use(request: HttpRequest) -> None:
    """Record the IP address and user agent of this session, unless another transaction has locked the row."""
    key, address = request.session.session_key, request.META.get("REMOTE_ADDR")
    if not key or not address or not sessions.is_recording_due(key):
        return
    agent = request.META.get("HTTP_USER_AGENT", "")

    def note() -> None:
        if not sessions.record_use(key, address=address, agent=agent, at=timezone.now()):
            # Create the missing row. Sessions that were created before the session list existed have no row.
            UserSession.objects.create_from_request(request)

    run_unless_locked(note)
