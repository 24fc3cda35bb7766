from collections.abc import Mapping
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone, translation
from django.utils.translation import gettext_noop

from apps.core.admin.reverse import get_global_url
from apps.core.cache import is_first_call
from apps.core.db import encrypted_fields
from apps.core.events.context import event_context
from apps.core.events.recording import record_event
from apps.core.i18n import formats
from apps.core.tenancy.models import Membership, User
from apps.core.tenancy.read_only import writable_shops
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.staff.accounts import login_limits

# Messages that this project translates into formal German, because allauth's own translation is informal.
ALLAUTH_MESSAGES = (
    gettext_noop("Are you sure you want to sign out?"),
    gettext_noop("Be patient, you are sending too many requests."),
    gettext_noop(
        "Forgotten your password? Enter your email address below, and we'll send you an email allowing you to reset it."
    ),
    gettext_noop("Please contact us if you have any trouble resetting your password."),
    gettext_noop("Please type your current password."),
    gettext_noop(
        "The password reset link was invalid, possibly because it has already been used.  Please request a <a"
        ' href="%(passwd_reset_url)s">new password reset</a>.'
    ),
    gettext_noop("Too many failed login attempts. Try again later."),
    gettext_noop(
        "We have sent you an email. If you have not received it please check your spam folder. Otherwise "
        "contact us if you do not receive it in a few minutes."
    ),
    gettext_noop("You are about to deactivate authenticator app based authentication. Are you sure?"),
    gettext_noop("You are about to generate a new set of recovery codes for your account."),
    gettext_noop("You are already logged in as %(user_display)s."),
    gettext_noop("You have signed out."),
    gettext_noop("You must type the same password each time."),
    gettext_noop("Your password has been changed."),
    gettext_noop("Your password is now changed."),
)


LOCK_NOTED_SECONDS = 300
# Messages that are not shown, because pages already show whether the user is logged in.
_SILENT = frozenset({"account/messages/logged_in.txt", "account/messages/logged_out.txt"})


class StaffAccountAdapter(DefaultAccountAdapter):
    """The account adapter for staff. Staff members are invited and cannot sign up."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        preferred = getattr(context.get("user"), "language", "")
        with translation.override(formats.match_language(preferred) if preferred else translation.get_language()):
            super().send_mail(template_prefix, email, context)

    def send_password_reset_mail(self, user: AbstractBaseUser, email: str, context: dict[str, Any]) -> None:
        """Send the email for choosing a password, which is also the invitation of new staff."""
        self.send_mail("account/email/choose_password", email, context)

    def get_reset_password_from_key_url(self, key: str) -> str:
        """Return the password reset URL on the installation's own host. ``key`` is ``<user>-<token>``."""
        user, _, token = key.partition("-")
        return f"{settings.BASE_URL}{get_global_url('account_reset_password_from_key', user, token)}"

    def add_message(self, request: HttpRequest, level: int, *args: Any, **kwargs: Any) -> None:
        template = kwargs.get("message_template") or (args[0] if args else None)
        if template not in _SILENT:
            super().add_message(request, level, *args, **kwargs)

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Refuse the login after too many failures, and record the first refusal in the audit log."""
        email = _get_email(credentials)
        if not login_limits.count_attempt(request, email):
            if is_first_call(f"login-locked:{email}", LOCK_NOTED_SECONDS):
                record_login_event(request, email, "staff/login_locked")
            raise self.validation_error("too_many_login_attempts")

    def authenticate(self, request: HttpRequest, **credentials: Any) -> AbstractBaseUser | None:
        user: AbstractBaseUser | None = super().authenticate(request, **credentials)
        if user is not None:
            login_limits.restore_attempt(request, _get_email(credentials))
        return user

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        record_login_event(request, _get_email(credentials), "staff/login_failed")

    def post_login(self, request: HttpRequest, user: User, **options: Any) -> HttpResponseBase:
        response: HttpResponseBase = super().post_login(request, user, **options)
        login_limits.remember_device(request, response, user.email.lower())
        return response

    def get_reauthentication_methods(self, user: AbstractBaseUser | AnonymousUser) -> list[dict[str, Any]]:
        methods: list[dict[str, Any]] = super().get_reauthentication_methods(user)
        codes = [method for method in methods if method["id"] != "reauthenticate"]
        return codes or methods

    def reauthenticate(self, user: User, password: str) -> bool:
        """Check the password of a logged-in user. The rate limit for failed logins applies."""
        return self.authenticate(context.request, email=user.email, password=password) is not None


class SecondFactorAdapter(DefaultMFAAdapter):
    """An MFA adapter that encrypts second factors in the database, in the same way as app secrets."""

    def encrypt(self, text: str) -> str:
        return encrypted_fields.encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        """Decrypt a secret. A secret that an older release stored as plain text is returned unchanged."""
        is_encrypted = encrypted_fields.is_encrypted(encrypted_text)
        return encrypted_fields.decrypt(encrypted_text) if is_encrypted else encrypted_text


def _get_email(credentials: Mapping[str, Any]) -> str:
    return str(credentials.get("email", "")).lower()


def record_login_event(request: HttpRequest, email: str, topic: str) -> None:
    """Record a login event with the actor ``system`` in every writable shop of the user."""
    user = User.objects.filter(email=email).first()
    if user is None:
        return
    with all_shops_scope():
        memberships = list(Membership.objects.filter(writable_shops(), user=user).select_related("shop", "user"))
    address = request.META.get("REMOTE_ADDR") or None
    with event_context(request_id=getattr(request, "request_id", ""), address=address):
        for membership in memberships:
            with shop_scope(membership.shop), transaction.atomic():
                record_event(topic, membership, actor="system", at=timezone.now())
