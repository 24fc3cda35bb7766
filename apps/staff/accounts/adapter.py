"""How allauth behaves here: no signing up, failed logins in the audit log, passwords checked by e-mail address."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from apps.events.domain.context import cause
from apps.events.domain.recording import record_event
from apps.ground.caching import is_first
from apps.ground.tenancy import every_shop, shop_scope
from apps.staff.models import Membership, User

LOCK_NOTED_SECONDS = 300
# Where somebody is, shows that they are logged in; a message on top of every first page is noise.
_SILENT = frozenset({"account/messages/logged_in.txt", "account/messages/logged_out.txt"})


class StaffAccountAdapter(DefaultAccountAdapter):
    """Staff are invited; nobody signs up."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Never."""
        return False

    def add_message(self, request: HttpRequest, level: int, *args: Any, **kwargs: Any) -> None:
        """Messages, but for those that say what is seen anyway."""
        template = kwargs.get("message_template") or (args[0] if args else None)
        if template not in _SILENT:
            super().add_message(request, level, *args, **kwargs)

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Refuse after too many failures; the audit log says once that it began."""
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError:
            email = str(credentials.get("email", "")).lower()
            if is_first(f"login-locked:{email}", LOCK_NOTED_SECONDS):
                note_login(request, email, "staff/login_locked")
            raise

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        """Note a wrong password in the audit log of the person's shops."""
        note_login(request, str(credentials.get("email", "")), "staff/login_failed")

    def reauthenticate(self, user: User, password: str) -> bool:
        """Check the password of somebody who is logged in, under the same limit as the login."""
        return self.authenticate(context.request, email=user.email, password=password) is not None


def note_login(request: HttpRequest, email: str, topic: str) -> None:
    """Record something about a login in every shop where the person works; whoever tried it is not known."""
    user = User.objects.filter(email=email.lower()).first()
    if user is None:
        return
    with every_shop():
        places = list(Membership.objects.filter(user=user).select_related("shop", "user"))
    address = request.META.get("REMOTE_ADDR") or None
    with cause(request_id=getattr(request, "request_id", ""), address=address):
        for place in places:
            with shop_scope(place.shop), transaction.atomic():
                record_event(topic, place, actor="system", at=timezone.now())
