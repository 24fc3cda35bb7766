"""The pages of a person's own account that differ from allauth's, and the profile."""

import time
from typing import Any, cast

from allauth.account.authentication import AUTHENTICATION_METHODS_SESSION_KEY
from allauth.account.views import LoginView as AllauthLoginView
from allauth.mfa.totp.views import ActivateTOTPView as AllauthActivateTOTPView
from allauth.mfa.utils import is_mfa_enabled
from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from apps.panel.once import posted
from apps.staff.domain import sessions
from apps.staff.domain.access import shops_of, staff_only
from apps.staff.models import User


class LoginView(AllauthLoginView):
    """The login; too many failures are a 429."""

    def form_invalid(self, form: Any) -> HttpResponse:
        """The form again, with the status that says why."""
        response: HttpResponse = super().form_invalid(form)
        if any(error.code == "too_many_login_attempts" for error in form.non_field_errors().as_data()):
            response.status_code = 429
            response.headers["Retry-After"] = "300"
        return response


class ActivateTOTPView(AllauthActivateTOTPView):
    """Setting up a second factor; the code that proves it also counts for this session, which needs no new login."""

    def form_valid(self, form: Any) -> HttpResponse:
        """Activate, and note the proof."""
        response: HttpResponse = super().form_valid(form)
        session = self.request.session
        proof = {"method": "mfa", "type": "totp", "at": time.time()}
        session[AUTHENTICATION_METHODS_SESSION_KEY] = [*session.get(AUTHENTICATION_METHODS_SESSION_KEY, []), proof]
        return response


class ProfileForm(forms.ModelForm[User]):
    """What a person says of themselves."""

    class Meta:
        model = User
        fields = ("first_name", "last_name", "phone", "url", "bio")
        labels = {"url": "Website", "bio": "About me"}
        widgets = {"bio": forms.Textarea(attrs={"rows": 3})}


@staff_only
def profile(request: HttpRequest) -> HttpResponse:
    """One's own profile; it needs no permission and no shop."""
    user = cast("User", request.user)
    form = ProfileForm(posted(request), instance=User.objects.get(pk=user.pk))
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, "Your profile is saved.")
        return redirect("profile")
    context = {
        "form": form,
        "two_factor": is_mfa_enabled(user),
        "sessions": sessions.sessions_of(request),
        "shops": shops_of(user)[:20],
    }
    return render(request, "outside/profile.html", context)


end_session = staff_only(sessions.end)
end_others = staff_only(sessions.end_others)
