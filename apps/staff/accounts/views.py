"""The pages of a person's own account that differ from allauth's, and the profile."""

import logging
import time
from smtplib import SMTPException
from typing import Any, cast

from allauth.account.authentication import AUTHENTICATION_METHODS_SESSION_KEY
from allauth.account.views import LoginView as AllauthLoginView
from allauth.account.views import PasswordResetView as AllauthPasswordResetView
from allauth.mfa.totp.views import ActivateTOTPView as AllauthActivateTOTPView
from allauth.mfa.utils import is_mfa_enabled
from allauth.mfa.webauthn.views import AddWebAuthnView as AllauthAddWebAuthnView
from allauth.usersessions.models import UserSession
from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.utils.translation import get_language, gettext_lazy, override
from django.utils.translation import gettext as _

from apps.ground import languages
from apps.panel.once import posted
from apps.staff.domain import sessions
from apps.staff.domain.access import shops_of
from apps.staff.models import User

logger = logging.getLogger(__name__)


class LoginView(AllauthLoginView):
    """The login, where one can type at once; too many failures are a 429."""

    def get_form(self, form_class: Any = None) -> Any:
        """The form, which begins at its first field."""
        form = super().get_form(form_class)
        form.fields["login"].widget.attrs["autofocus"] = True
        return form

    def form_invalid(self, form: Any) -> HttpResponse:
        """The form again, with the status that says why."""
        response: HttpResponse = super().form_invalid(form)
        if any(error.code == "too_many_login_attempts" for error in form.non_field_errors().as_data()):
            response.status_code = 429
            response.headers["Retry-After"] = "300"
        return response


class PasswordResetView(AllauthPasswordResetView):
    """Asking for a link by which to choose a password; the answer is the same whoever asks."""

    def form_valid(self, form: Any) -> HttpResponse:
        """Send it; a mail server that is away shows in the log, and tells nobody which addresses are known."""
        try:
            response: HttpResponse = super().form_valid(form)
        except (OSError, SMTPException):
            logger.exception("A link for choosing a password could not be sent.")
            response = redirect(self.get_success_url())
        return response


class _FirstFactor:
    """What setting up a second factor brings with it: what proves it also counts for this session, without a new login.

    All other sessions were opened without it, and end.
    """

    request: HttpRequest
    kind: str

    def form_valid(self, form: Any) -> HttpResponse:
        """Set it up; where it is the person's first, note the proof and sign out everywhere else."""
        is_first = not is_mfa_enabled(self.request.user)
        response: HttpResponse = super().form_valid(form)  # type: ignore[misc]
        if is_first:
            for other in _other_sessions(self.request):
                other.end()
            session = self.request.session
            proof = {"method": "mfa", "type": self.kind, "at": time.time()}
            session[AUTHENTICATION_METHODS_SESSION_KEY] = [*session.get(AUTHENTICATION_METHODS_SESSION_KEY, []), proof]
        return response


class ActivateTOTPView(_FirstFactor, AllauthActivateTOTPView):
    """Setting up an app that shows codes."""

    kind = "totp"


class AddWebAuthnView(_FirstFactor, AllauthAddWebAuthnView):
    """Adding a passkey or a security key."""

    kind = "webauthn"


class ProfileForm(forms.ModelForm[User]):
    """What a person says of themselves."""

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
        choices=lambda: [("", _("As the browser asks")), *settings.LANGUAGES],
    )


def profile(request: HttpRequest) -> HttpResponse:
    """One's own profile; it needs no permission and no shop."""
    user = cast("User", request.user)
    form = ProfileForm(posted(request), instance=User.objects.get(pk=user.pk))
    if request.method == "POST" and form.is_valid():
        form.save()
        chosen = form.instance.language
        with override(languages.nearest(chosen) if chosen else get_language()):
            messages.success(request, _("Your profile is saved."))
        return redirect("profile")
    context = {
        "form": form,
        "two_factor": is_mfa_enabled(user),
        "sessions": sessions.sessions_of(user, present=request.session.session_key),
        "shops": shops_of(user)[:20],
    }
    return render(request, "outside/profile.html", context)


def end_session(request: HttpRequest, pk: int) -> HttpResponse:
    """Log one of the person's other sessions out."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    session = _other_sessions(request).filter(pk=pk).first()
    if session is None:
        raise Http404("You have no such other session.")
    session.end()
    messages.success(request, _("{device} is signed out.").format(device=sessions.device_of(session.user_agent)))
    return redirect("profile")


def end_others(request: HttpRequest) -> HttpResponse:
    """Log the person out everywhere but here."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    ended = list(_other_sessions(request))
    for session in ended:
        session.end()
    messages.success(request, _("You are signed out everywhere else ({count}).").format(count=len(ended)))
    return redirect("profile")


def _other_sessions(request: HttpRequest) -> QuerySet[UserSession]:
    return sessions.others_of(cast("User", request.user), present=request.session.session_key)
