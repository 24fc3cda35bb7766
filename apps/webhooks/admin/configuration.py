"""An app's configuration file in the panel: read, compared with what is, and applied once somebody has looked."""

from datetime import datetime
from typing import cast

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.ground.errors import DomainError
from apps.panel.access import require
from apps.panel.once import posted
from apps.panel.requests import in_shop
from apps.panel.screens.bases import PanelAdmin
from apps.panel.seen import MEANWHILE, changed_meanwhile, mark
from apps.shops.models import App
from apps.webhooks.domain import configuration
from apps.webhooks.domain.configuration import Configuration, Difference
from apps.webhooks.models import Subscription

CHANGE = "shops.change_app"
SIZE = configuration.MAX_BYTES // 1024


class ConfigurationForm(forms.Form):
    """The file, or its text where it was shown already."""

    file = forms.FileField(
        required=False,
        label=gettext_lazy("Configuration file"),
        help_text=format_lazy(gettext_lazy("TOML, at most {size} KiB. Nothing changes before you apply."), size=SIZE),
    )
    text = forms.CharField(required=False, strip=False, widget=forms.HiddenInput)

    def clean(self) -> dict[str, str]:
        """The text of the file."""
        file = cast("UploadedFile[bytes] | None", self.cleaned_data.get("file"))
        if file is None:
            if not self.cleaned_data.get("text"):
                self.add_error("file", _("Choose a file."))
            return self.cleaned_data
        if (file.size or 0) > configuration.MAX_BYTES:
            self.add_error("file", _("The file is too large (maximum is {size} KiB).").format(size=SIZE))
            return self.cleaned_data
        try:
            self.cleaned_data["text"] = file.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            self.add_error("file", _("The file is no text in UTF-8."))
        return self.cleaned_data


def answer(screen: PanelAdmin[Subscription], request: HttpRequest, app_id: int) -> HttpResponse:
    """Show the form, then what the file changes, then apply it."""
    require(request, CHANGE)
    app = _kept(screen, request, app_id)
    form = ConfigurationForm(posted(request), request.FILES or None)
    told: Difference | None = None
    if request.method == "POST" and form.is_valid():
        try:
            wanted = configuration.read_configuration(form.cleaned_data["text"])
            now = timezone.now()
            told = configuration.compare(app, wanted, at=now)
            if "apply" in request.POST and not _is_stale(request, form, told):
                return _apply(screen, request, app, wanted, now)
        except DomainError as refusal:
            form.add_error(None, refusal.sentence)
    return screen.page(
        request,
        "panel/webhooks/configuration.html",
        _("Configuration file of {name}").format(name=app.name),
        app=app,
        form=form,
        told=told,
        lines=[] if told is None else [(line[0], line[2:]) for line in told.lines()],
        warnings=[] if told is None else list(dict.fromkeys(told.warnings)),
        text=form.cleaned_data.get("text", "") if form.is_bound else "",
        seen="" if told is None else mark(*told.lines()),
    )


def _kept(screen: PanelAdmin[Subscription], request: HttpRequest, app_id: int) -> App:
    """The app, if this shop keeps it; for the operator also one that no shop keeps."""
    kept = Q(owner=screen.shop(request))
    if in_shop(request).user.is_superuser:
        kept |= Q(owner=None)
    found = App.objects.filter(kept, pk=app_id).first()
    if found is None:
        raise Http404(_("This shop keeps no such app."))
    return found


def _is_stale(request: HttpRequest, form: ConfigurationForm, told: Difference) -> bool:
    """Whether the file would change something else by now than what was looked at."""
    if not request.POST.get("seen") or changed_meanwhile(request, *told.lines()):
        form.add_error(None, MEANWHILE)
        return True
    return False


def _apply(
    screen: PanelAdmin[Subscription], request: HttpRequest, app: App, wanted: Configuration, at: datetime
) -> HttpResponse:
    configuration.apply_configuration(app, wanted, actor=screen.actor(request), at=at)
    screen.message_user(request, _("Applied. It holds for every shop that has the app."), messages.SUCCESS)
    return HttpResponseRedirect(reverse("admin:shops_app_change", args=(app.pk,)))
