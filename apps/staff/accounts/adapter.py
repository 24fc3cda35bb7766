"""How allauth behaves here: no signing up, failed logins in the audit log, passwords checked by e-mail address."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone, translation

from apps.events.domain.context import cause
from apps.events.domain.recording import record_event
from apps.ground import languages
from apps.ground.caching import is_first
from apps.ground.tenancy import every_shop, shop_scope
from apps.panel.addresses import outside_url
from apps.shops.domain.read_only import writable
from apps.shops.models import secrets
from apps.staff.models import Membership, User

LOCK_NOTED_SECONDS = 300
# Where somebody is, shows that they are logged in; a message on top of every first page is noise.
_SILENT = frozenset({"account/messages/logged_in.txt", "account/messages/logged_out.txt"})


class StaffAccountAdapter(DefaultAccountAdapter):
    """Staff are invited; nobody signs up."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Never."""
        return False

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Write to somebody in the language that they chose, else in that of whoever asked for the mail."""
        chosen = getattr(context.get("user"), "language", "")
        with translation.override(languages.nearest(chosen) if chosen else translation.get_language()):
            super().send_mail(template_prefix, email, context)

    def get_reset_password_from_key_url(self, key: str) -> str:
        """The link of a mail: below the installation's own address, whatever host the request named.

        Args:
            key: ``<user>-<token>``.
        """
        user, _, token = key.partition("-")
        return f"{settings.BASE_URL}{outside_url('account_reset_password_from_key', user, token)}"

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """What failed logins are counted under: the address alone; allauth adds the host, which the client makes up."""
        return str(credentials.get("email", "")).lower()

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

    def get_reauthentication_methods(self, user: AbstractBaseUser | AnonymousUser) -> list[dict[str, Any]]:
        """How somebody who is in proves once more who they are: with a second factor by nothing less than a code."""
        methods: list[dict[str, Any]] = super().get_reauthentication_methods(user)
        codes = [method for method in methods if method["id"] != "reauthenticate"]
        return codes or methods

    def reauthenticate(self, user: User, password: str) -> bool:
        """Check the password of somebody who is logged in, under the same limit as the login."""
        return self.authenticate(context.request, email=user.email, password=password) is not None


class SecondFactorAdapter(DefaultMFAAdapter):
    """What codes are worked out from lies in the database as the secrets of apps do."""

    def encrypt(self, text: str) -> str:
        """Before it is stored."""
        return secrets.encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        """Before a code is checked; a process of an older release may have stored it as it is."""
        return secrets.decrypt(encrypted_text) if secrets.is_encrypted(encrypted_text) else encrypted_text


def note_login(request: HttpRequest, email: str, topic: str) -> None:
    """Record something about a login in every shop where the person works; whoever tried it is not known."""
    user = User.objects.filter(email=email.lower()).first()
    if user is None:
        return
    with every_shop():
        places = list(Membership.objects.filter(writable(), user=user).select_related("shop", "user"))
    address = request.META.get("REMOTE_ADDR") or None
    with cause(request_id=getattr(request, "request_id", ""), address=address):
        for place in places:
            with shop_scope(place.shop), transaction.atomic():
                record_event(topic, place, actor="system", at=timezone.now())
