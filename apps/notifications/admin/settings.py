"""The page *My notifications*, on which each staff member chooses kinds and channels."""

from collections.abc import Iterable, Mapping

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from apps.core.admin.forms.idempotency import get_post_data, submit_once_or_redirect
from apps.core.admin.staff_request import as_staff_request
from apps.core.tenancy.backends import get_current_membership
from apps.core.tenancy.models import Membership
from apps.notifications.domain.notification_kinds import Kind, get_allowed_kinds
from apps.notifications.domain.preferences import CHANNELS, get_preferences, save_preferences
from apps.notifications.models import Preference

_DEMO_BACKEND = "backoffice.email_backend.DemoEmailBackend"
CHANNEL_LABELS = {
    "panel": gettext_lazy("In the panel"),
    "sound": gettext_lazy("Sound"),
    "browser": gettext_lazy("Browser"),
    "email": gettext_lazy("Email"),
}


class PreferencesForm(forms.Form):
    """A form with a checkbox for each kind and channel, such as ``new_order-email``."""

    def __init__(
        self, kinds: Iterable[Kind], preferences: Mapping[str, Preference], data: Mapping[str, object] | None
    ) -> None:
        super().__init__(data)
        self.kinds = list(kinds)
        for kind in self.kinds:
            for channel in CHANNELS:
                field = forms.BooleanField(
                    label=f"{kind.label}: {CHANNEL_LABELS[channel]}",
                    required=False,
                    initial=getattr(preferences[kind.name], channel),
                )
                field.widget.attrs |= {"aria-label": field.label}
                self.fields[f"{kind.name}-{channel}"] = field

    def get_rows(self) -> list[tuple[Kind, list[tuple[str, forms.BoundField]]]]:
        """Return each kind with the label and field of each channel."""
        return [
            (kind, [(str(CHANNEL_LABELS[channel]), self[f"{kind.name}-{channel}"]) for channel in CHANNELS])
            for kind in self.kinds
        ]

    def get_chosen(self) -> dict[str, set[str]]:
        return {
            kind.name: {channel for channel in CHANNELS if self.cleaned_data[f"{kind.name}-{channel}"]}
            for kind in self.kinds
        }


@require_http_methods(["GET", "HEAD", "POST"])
def render_settings(request: HttpRequest) -> HttpResponseBase:
    return submit_once_or_redirect(request, lambda: _respond(request), keyed=True)


def _respond(request: HttpRequest) -> HttpResponse:
    staff_request = as_staff_request(request)
    member = get_current_membership(staff_request.user)
    form = _build_form(request, member) if member else None
    if member and form and request.method == "POST" and form.is_valid():
        save_preferences(member, form.get_chosen())
        messages.success(request, _("Your notifications were saved."))
        return HttpResponseRedirect(reverse("admin:notifications"))
    context = {
        **admin.site.each_context(request),
        "title": _("My notifications"),
        "form": form,
        "channels": list(CHANNEL_LABELS.values()),
        "email": staff_request.user.email,
        "is_email_missing": settings.EMAIL_BACKEND == _DEMO_BACKEND,
        "copied_from": staff_request.shop.copied_from,
    }
    return TemplateResponse(request, "panel/notifications/settings.html", context)


def _build_form(request: HttpRequest, member: Membership) -> PreferencesForm:
    kinds = get_allowed_kinds(as_staff_request(request).user)
    return PreferencesForm(kinds, get_preferences(member, kinds), get_post_data(request))
