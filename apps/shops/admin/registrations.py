from typing import cast

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from apps.core.admin.forms.error_display import add_domain_errors, format_errors
from apps.core.admin.forms.forms import Values
from apps.core.admin.forms.idempotency import get_post_data, submit_once_or_redirect
from apps.core.admin.forms.optimistic_lock import EDIT_CONFLICT, compute_fingerprint, has_changed_since_render
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import PanelAdmin
from apps.core.admin.model_admin.extra_views import extra_view, row_view
from apps.core.admin.permissions import has_permission, require_permission
from apps.core.admin.staff_request import Context, as_staff_request
from apps.core.admin.theme import display
from apps.core.exceptions import DomainError
from apps.core.tenancy.models import App
from apps.core.tenancy.models.apps import SHOP_APP_PREFIX
from apps.core.tenancy.models.redirect_urls import check_redirect_urls
from apps.shops.admin import oauth_approval, scope_fields
from apps.shops.admin.tokens import OVERLAPS, get_overlap, render_secret_once
from apps.shops.domain import app_registration, oauth
from apps.shops.models import RetiringSecret

ADD, CHANGE, DELETE = "shops.add_app", "shops.change_app", "shops.delete_app"
_FIELDS = ("name", "distribution", "application_url", "contact_email", "redirect_urls")


class RegistrationForm(scope_fields.ScopesForm):
    name = forms.CharField(
        max_length=255,
        help_text=gettext_lazy("The name that staff see when the app requests access."),
        label=gettext_lazy("Name"),
    )
    distribution = forms.ChoiceField(
        choices=App.Distribution.choices, label=gettext_lazy("Distribution"), initial="private"
    )
    application_url = forms.URLField(
        required=False,
        max_length=2048,
        label=gettext_lazy("App URL"),
        help_text=gettext_lazy("The app's website, if it has one."),
    )
    contact_email = forms.EmailField(
        required=False,
        label=gettext_lazy("Contact email"),
        help_text=gettext_lazy("The developer's address. It gets an email when a webhook of the app is disabled."),
    )
    redirect_urls = forms.CharField(
        required=False,
        label=gettext_lazy("Redirect URLs"),
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=gettext_lazy(
            "After approval, staff are redirected to one of these URLs. Enter one URL per line, exactly as the app "
            "sends it."
        ),
    )

    def __init__(self, data: QueryDict | None = None, *, app: App | None = None) -> None:
        super().__init__(data, scopes=app.requested_scopes if app else None)
        if app is not None:
            self.initial = {name: getattr(app, name) for name in _FIELDS}
            self.initial["redirect_urls"] = "\n".join(app.redirect_urls)

    def clean_redirect_urls(self) -> list[str]:
        urls = [line.strip() for line in str(self.cleaned_data["redirect_urls"]).splitlines() if line.strip()]
        check_redirect_urls(urls)
        return urls

    @property
    def values(self) -> Values:
        return {**{name: self.cleaned_data[name] for name in _FIELDS}, "scopes": self.scopes}


@admin.register(App)
class AppAdmin(PanelAdmin[App]):
    """The model admin for registered apps. A new API secret is only shown once, directly after it is created."""

    menu = MenuItem("Apps", "apps", 20, gettext_lazy("In-house apps"))
    search_terms = pgettext_lazy("search", "api, key, secret, token, developer, oauth, credentials")
    intro = gettext_lazy(
        "Apps developed by this shop and the access that they request. Each shop decides which access to grant."
    )
    empty_text = gettext_lazy("No apps yet. Register an app so that it can request access to shops.")
    list_display = ("name", "for_whom", "asks_for", "at_work_in")
    list_display_links = ("name",)
    search_fields = ("name__icontains",)
    ordering = ("name", "id")
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[App]:
        visible = Q(owner=self.shop(request))
        if as_staff_request(request).user.is_superuser:
            visible |= Q(owner=None)
        installation_count = Count("installations", filter=Q(installations__uninstalled_at=None))
        return (
            App.objects.filter(visible, retired_at=None)
            .exclude(api_key__startswith=SHOP_APP_PREFIX)
            .annotate(shops=installation_count)
            .order_by(*self.get_ordering(request))
        )

    @display(description=gettext_lazy("Distribution"), ordering="distribution")
    def for_whom(self, app: App) -> str:
        return app.get_distribution_display()

    @display(description=gettext_lazy("Requested access"))
    def asks_for(self, app: App) -> str:
        count = len(scope_fields.describe_scopes(app.requested_scopes))
        text = ngettext("{number} data type", "{number} data types", count)
        return text.format(number=count) if count else _("varies by request")

    @display(description=gettext_lazy("Installed in"))
    def at_work_in(self, app: App) -> str:
        shops: int = app.shops  # type: ignore[attr-defined]
        return ngettext("{number} shop", "{number} shops", shops).format(number=shops)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Context | None = None) -> HttpResponse:
        require_permission(request, ADD)
        form = RegistrationForm(get_post_data(request))
        if request.method == "POST" and form.is_valid():
            try:
                return cast(
                    "HttpResponse", submit_once_or_redirect(request, lambda: self._register(request, form), keyed=True)
                )
            except (ValidationError, DomainError) as error:
                add_domain_errors(form, error)
        return self.page(request, "panel/apps/registration.html", _("Register app"), form=form)

    def _register(self, request: HttpRequest, form: RegistrationForm) -> HttpResponse:
        app = app_registration.register_app(form.values, owner=self.shop(request), **self.event_kwargs(request))
        title, onward = _("{name} is registered").format(name=app.name), self.url("change", app.pk)
        return render_secret_once(self, request, title, continue_url=onward, app=app, secret=app.api_secret)

    @row_view("change/", "shops.view_app", CHANGE, name="change")
    def detail_view(self, request: HttpRequest, app: App) -> HttpResponse:
        editable = has_permission(request, CHANGE)
        form = RegistrationForm(get_post_data(request), app=app)
        displayed_values = [getattr(app, name) for name in (*_FIELDS, "requested_scopes")]
        if request.method == "POST":
            require_permission(request, CHANGE)
            if form.is_valid() and has_changed_since_render(request, *displayed_values):
                form.add_error(None, EDIT_CONFLICT)
            if form.is_valid() and self._save(request, app, form):
                return HttpResponseRedirect(self.url("change", app.pk))
        if not editable:
            for field in form.fields.values():
                field.disabled = True
        now = timezone.now()
        return self.page(
            request,
            "panel/apps/registration.html",
            app.name,
            original=app,
            form=form,
            seen=compute_fingerprint(*displayed_values),
            editable=editable,
            overlaps=OVERLAPS,
            old_until=RetiringSecret.objects.filter(app=app, until__gt=now).order_by("-until").first(),
            here=oauth.find_installation(app, self.shop(request)),
            may_install=has_permission(request, "shops.add_installation"),
            may_remove=has_permission(request, DELETE),
        )

    def _save(self, request: HttpRequest, app: App, form: RegistrationForm) -> bool:
        try:
            changes = app_registration.update_registration(app, form.values, **self.event_kwargs(request))
        except (ValidationError, DomainError) as error:
            add_domain_errors(form, error)
            return False
        text = _("Saved. Shops must approve the app's new access.") if "scopes" in changes else _("Saved.")
        self.message_user(request, text, messages.SUCCESS)
        return True

    @row_view("delete/", DELETE, name="delete")
    def remove_view(self, request: HttpRequest, app: App) -> HttpResponse:
        if request.method == "POST":
            try:
                app_registration.delete_registration(app, **self.event_kwargs(request))
            except DomainError as error:
                self.message_user(request, format_errors(error), messages.ERROR)
                return HttpResponseRedirect(self.url("delete", app.pk))
            self.message_user(request, _("{name} deleted.").format(name=app.name), messages.SUCCESS)
            return HttpResponseRedirect(self.url("changelist"))
        installation = oauth.find_installation(app, self.shop(request))
        shops: int = app.shops  # type: ignore[attr-defined]
        return self.page(
            request,
            "panel/apps/remove.html",
            _("Delete {name}").format(name=app.name),
            original=app,
            here=installation,
            elsewhere=shops - (installation is not None),
            may_uninstall=has_permission(request, "shops.delete_installation"),
        )

    @extra_view("<path:object_id>/install/", "shops.add_installation")
    def install_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return oauth_approval.show_registration_review(self, request, self.get_row_or_404(request, object_id))

    @row_view("secret/", CHANGE, post_only=True, keyed=True)
    def secret_view(self, request: HttpRequest, app: App) -> HttpResponse:
        """Replace the API secret and show the new secret once. The old secret expires after the chosen time."""
        overlap = get_overlap(request)
        if overlap is None:
            self.message_user(request, _("Choose how long the old secret stays valid."), messages.ERROR)
            return HttpResponseRedirect(self.url("change", app.pk))
        secret = app_registration.replace_secret(app, overlap=overlap, **self.event_kwargs(request))
        return render_secret_once(
            self, request, _("New secret"), continue_url=self.url("change", app.pk), app=app, secret=secret
        )

    @row_view("secret/end-old/", CHANGE, post_only=True)
    def end_old_view(self, request: HttpRequest, app: App) -> HttpResponse:
        app_registration.end_old_app_secrets(app, **self.event_kwargs(request))
        self.message_user(request, _("The old secret is no longer valid."), messages.SUCCESS)
        return HttpResponseRedirect(self.url("change", app.pk))
