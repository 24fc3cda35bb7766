"""What the forms and lists of articles and pages share: handle, visibility, and redirects from earlier URLs."""

from collections.abc import Iterable
from datetime import datetime

from django import forms
from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.content.domain.online_store.redirects import redirect_renamed_path
from apps.content.models import Article, Page
from apps.core.admin.lists.filters import Choices, Screen
from apps.core.admin.permissions import has_permission
from apps.core.admin.theme import Fieldset, ThemedTextInput

ADD_REDIRECT = "content.add_redirect"
REDIRECT_FIELD = "redirect_old_url"


def create_handle_field() -> forms.SlugField:
    return forms.SlugField(
        required=False,
        max_length=255,
        widget=ThemedTextInput(),
        help_text=gettext_lazy("Part of the URL. Leave blank to create the handle from the title."),
        label=gettext_lazy("Handle"),
    )


def create_redirect_field() -> forms.BooleanField:
    return forms.BooleanField(
        required=False,
        initial=True,
        label=gettext_lazy("Create a redirect if the handle changes"),
        help_text=gettext_lazy("Links to the old URL lead to the new URL."),
    )


def add_redirect_field(fieldsets: Iterable[Fieldset], request: HttpRequest, instance: Model | None) -> list[Fieldset]:
    """Return the fieldsets. The last one offers a redirect from the old URL if the user may create redirects."""
    *others, (title, options) = fieldsets
    if instance is not None and has_permission(request, ADD_REDIRECT):
        options = {**options, "fields": (*options["fields"], REDIRECT_FIELD)}
    return [*others, (title, options)]


def redirect_if_renamed(
    request: HttpRequest, form: forms.BaseForm, old_path: str, new_path: str, *, actor: str, at: datetime
) -> None:
    """Create a redirect if the URL has changed and the user has chosen so."""
    is_chosen = form.cleaned_data.get(REDIRECT_FIELD) and has_permission(request, ADD_REDIRECT)
    if is_chosen and old_path != new_path:
        redirect_renamed_path(old_path, new_path, actor=actor, at=at)


def get_visibility(instance: Article | Page) -> tuple[str, str]:
    """Return the visibility and its label."""
    if instance.published_at is None:
        return "hidden", _("Hidden")
    if instance.published_at <= timezone.now():
        return "visible", _("Visible")
    return "scheduled", _("Scheduled")


VISIBILITY_COLORS = {"visible": "success", "scheduled": "info", "hidden": "warning"}


class VisibilityFilter(admin.SimpleListFilter):
    title = gettext_lazy("visibility")
    parameter_name = "visibility"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        return [("visible", _("Visible")), ("scheduled", _("Scheduled")), ("hidden", _("Hidden"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Model]) -> QuerySet[Model]:
        now = timezone.now()
        states: dict[str | None, dict[str, datetime | None]] = {
            "visible": {"published_at__lte": now},
            "scheduled": {"published_at__gt": now},
            "hidden": {"published_at": None},
        }
        return queryset.filter(**states[self.value()]) if self.value() in states else queryset
