"""Account pages that replace pages of allauth, and the profile page."""

import logging
import time
from smtplib import SMTPException
from typing import Any, cast

from allauth.account.authentication import AUTHENTICATION_METHODS_SESSION_KEY
from allauth.account.views import LoginView as AllauthLoginView
from allauth.account.views import PasswordResetView as AllauthPasswordResetView
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.views import ActivateTOTPView as AllauthActivateTOTPView
from allauth.mfa.utils import is_mfa_enabled
from allauth.mfa.webauthn.views import AddWebAuthnView as AllauthAddWebAuthnView
from allauth.usersessions.models import UserSession
from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language, gettext_lazy, ngettext, override
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.core.admin.forms.idempotency import get_post_data
from apps.core.i18n import formats
from apps.core.tenancy import sessions
from apps.core.tenancy.models import User
from apps.core.tenancy.staff_access import get_accessible_shops
from apps.staff.accounts.login_limits import RETRY_AFTER_SECONDS

logger = logging.getLogger(__name__)


class LoginView(AllauthLoginView):
    def get_form(self, form_class: Any = None) -> Any:
        form = super().get_form(form_class)
        form.fields["login"].widget.attrs["autofocus"] = True
        return form

    def form_invalid(self, form: Any) -> HttpResponse:
        response: HttpResponse = super().form_invalid(form)
        if any(error.code == "too_many_login_attempts" for error in form.non_field_errors().as_data()):
            response.status_code = 429
            response.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
        return response


class PasswordResetView(AllauthPasswordResetView):
    """The page that requests a password reset link. The response does not reveal which accounts exist."""

    def form_valid(self, form: Any) -> HttpResponse:
        """Send the link. Mail server errors are only logged, because a message would reveal that the account exists."""
        try:
            response: HttpResponse = super().form_valid(form)
        except (OSError, SMTPException):
            logger.exception("Could not send a password reset email.")
            response = redirect(self.get_success_url())
        return response


class _FirstFactor:
    """A mixin for views that set up a second factor.

    After the first factor, the current session counts as verified. All other sessions of the user end, because they
    were started without a second factor.
    """

    request: HttpRequest
    kind: str

    def form_valid(self, form: Any) -> HttpResponse:
        is_first = not is_mfa_enabled(self.request.user)
        response: HttpResponse = super().form_valid(form)  # type: ignore[misc]
        if is_first:
            for session_row in _other_sessions(self.request):
                session_row.end()
            session = self.request.session
            proof = {"method": "mfa", "type": self.kind, "at": time.time()}
            session[AUTHENTICATION_METHODS_SESSION_KEY] = [*session.get(AUTHENTICATION_METHODS_SESSION_KEY, []), proof]
        return response


class ActivateTOTPView(_FirstFactor, AllauthActivateTOTPView):
    kind = "totp"

    def form_valid(self, form: Any) -> HttpResponse:
        """Activate the authenticator, and mark the code as used so that it does not work again at the next login."""
        response: HttpResponse = super().form_valid(form)
        authenticator = Authenticator.objects.get(user=cast("User", self.request.user), type=Authenticator.Type.TOTP)
        authenticator.wrap().validate_code(form.cleaned_data["code"])
        return response


class AddWebAuthnView(_FirstFactor, AllauthAddWebAuthnView):
    kind = "webauthn"


class ProfileForm(forms.ModelForm[User]):
    class Meta:
        model = User
        fields = ("first_name", "last_name", "phone", "url", "bio", "language")
        labels = {
            "first_name": gettext_lazy("First name"),
            "last_name": gettext_lazy("Last name"),
            "phone": gettext_lazy("Phone"),
            "url": gettext_lazy("Website"),
            "bio": gettext_lazy("About me"),
        }
        widgets = {"bio": forms.Textarea(attrs={"rows": 3})}

    language = forms.ChoiceField(
        label=gettext_lazy("Language"),
        required=False,
        choices=lambda: [("", _("Browser default")), *settings.LANGUAGES],
    )


def edit_profile(request: HttpRequest) -> HttpResponse:
    user = cast("User", request.user)
    form = ProfileForm(get_post_data(request), instance=User.objects.get(pk=user.pk))
    if request.method == "POST" and form.is_valid():
        form.save()
        preferred = form.instance.language
        with override(formats.match_language(preferred) if preferred else get_language()):
            messages.success(request, _("Profile saved."))
        return redirect("profile")
    context = {
        "form": form,
        "two_factor": is_mfa_enabled(user),
        "sessions": sessions.get_sessions(user, present=request.session.session_key),
        "shops": get_accessible_shops(user)[:20],
    }
    return render(request, "global/profile.html", context)


@require_POST
def end_session(request: HttpRequest, pk: int) -> HttpResponse:
    session = _other_sessions(request).filter(pk=pk).first()
    if session is None:
        raise Http404("Session not found.")
    session.end()
    text = _("{device} has been logged out.")
    messages.success(request, text.format(device=sessions.describe_device(session.user_agent)))
    return redirect("profile")


@require_POST
def end_other_sessions(request: HttpRequest) -> HttpResponse:
    other_sessions = list(_other_sessions(request))
    for session in other_sessions:
        session.end()
    text = ngettext(
        "You have been logged out of {count} other session.",
        "You have been logged out of {count} other sessions.",
        len(other_sessions),
    )
    messages.success(request, text.format(count=len(other_sessions)))
    return redirect("profile")


def _other_sessions(request: HttpRequest) -> QuerySet[UserSession]:
    return sessions.get_other_sessions(cast("User", request.user), present=request.session.session_key)
