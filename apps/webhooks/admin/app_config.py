"""The panel page for applying an app's configuration file: upload the file, review the changes, apply them."""

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

from apps.core.admin.forms.idempotency import get_post_data
from apps.core.admin.forms.optimistic_lock import EDIT_CONFLICT, compute_fingerprint, has_changed_since_render
from apps.core.admin.model_admin.base import PanelAdmin
from apps.core.admin.permissions import require_permission
from apps.core.admin.staff_request import as_staff_request
from apps.core.exceptions import DomainError
from apps.core.tenancy.models import App
from apps.core.tenancy.models.apps import SHOP_APP_PREFIX
from apps.webhooks.domain import app_config
from apps.webhooks.domain.app_config import AppConfig, ConfigChanges
from apps.webhooks.models import Subscription

CHANGE_PERMISSION = "shops.change_app"
MAX_KIB = app_config.MAX_BYTES // 1024


class ConfigurationForm(forms.Form):
    """The upload form. After the review, a hidden field submits the text of the file."""

    file = forms.FileField(
        required=False,
        label=gettext_lazy("Configuration file"),
        help_text=format_lazy(
            gettext_lazy("A TOML file of up to {size} KB. You can review the changes before you apply them."),
            size=MAX_KIB,
        ),
    )
    text = forms.CharField(required=False, strip=False, widget=forms.HiddenInput)

    def clean(self) -> dict[str, str]:
        file = cast("UploadedFile[bytes] | None", self.cleaned_data.get("file"))
        if file is None:
            if not self.cleaned_data.get("text"):
                self.add_error("file", _("Choose a file."))
            return self.cleaned_data
        if (file.size or 0) > app_config.MAX_BYTES:
            self.add_error("file", _("The file is too large (maximum is {size} KB).").format(size=MAX_KIB))
            return self.cleaned_data
        try:
            self.cleaned_data["text"] = file.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            self.add_error("file", _("This file is not UTF-8. Save it as UTF-8 and try again."))
        return self.cleaned_data


def apply_config_view(screen: PanelAdmin[Subscription], request: HttpRequest, app_id: int) -> HttpResponse:
    """Show the upload form, then the changes that the file would make. After confirmation, apply the changes."""
    require_permission(request, CHANGE_PERMISSION)
    app = _get_managed_app(screen, request, app_id)
    form = ConfigurationForm(get_post_data(request), request.FILES or None)
    difference: ConfigChanges | None = None
    if request.method == "POST" and form.is_valid():
        try:
            parsed_file = app_config.parse_config(form.cleaned_data["text"])
            now = timezone.now()
            difference = app_config.compare_config(app, parsed_file, at=now)
            if "apply" in request.POST and not _is_stale(request, form, difference):
                return _apply(screen, request, app, parsed_file, now)
        except DomainError as error:
            form.add_error(None, error.sentence)
    return screen.page(
        request,
        "panel/webhooks/configuration.html",
        _("Configuration file for {name}").format(name=app.name),
        app=app,
        form=form,
        difference=difference,
        lines=[] if difference is None else [(line[0], line[2:]) for line in difference.lines()],
        warnings=[] if difference is None else list(dict.fromkeys(difference.warnings)),
        text=form.cleaned_data.get("text", "") if form.is_bound else "",
        seen="" if difference is None else compute_fingerprint(*difference.lines()),
    )


def _get_managed_app(screen: PanelAdmin[Subscription], request: HttpRequest, app_id: int) -> App:
    """Return the app if this shop owns it. The operator may also choose apps without an owner."""
    condition = Q(owner=screen.shop(request))
    if as_staff_request(request).user.is_superuser:
        condition |= Q(owner=None)
    app = App.objects.filter(condition, pk=app_id).exclude(api_key__startswith=SHOP_APP_PREFIX).first()
    if app is None:
        raise Http404(_("This shop doesn't manage this app."))
    return app


def _is_stale(request: HttpRequest, form: ConfigurationForm, difference: ConfigChanges) -> bool:
    """Return True and add a form error if the changes differ from the reviewed changes."""
    if not request.POST.get("seen") or has_changed_since_render(request, *difference.lines()):
        form.add_error(None, EDIT_CONFLICT)
        return True
    return False


def _apply(
    screen: PanelAdmin[Subscription], request: HttpRequest, app: App, parsed_file: AppConfig, at: datetime
) -> HttpResponse:
    app_config.apply_config(app, parsed_file, actor=screen.actor(request), at=at)
    screen.message_user(request, _("Configuration applied to all shops that have this app."), messages.SUCCESS)
    return HttpResponseRedirect(reverse("admin:shops_app_change", args=(app.pk,)))
