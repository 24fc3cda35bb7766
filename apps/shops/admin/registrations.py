"""The apps that a shop keeps: what they are called, where they are, what they ask for, and their secret."""

from typing import cast

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect, QueryDict
from django.urls import URLPattern
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from apps.ground.errors import DomainError
from apps.panel.access import may, require
from apps.panel.menu import Menu
from apps.panel.once import once_or_back, posted
from apps.panel.requests import Context, in_shop
from apps.panel.screens.bases import PanelAdmin
from apps.panel.screens.forms import Values
from apps.panel.seen import MEANWHILE, changed_meanwhile, mark
from apps.panel.theme import display
from apps.panel.wording import in_words
from apps.shops.admin import approving, scope_fields
from apps.shops.admin.tokens import OVERLAPS, shown_once
from apps.shops.domain import authorizing, registering
from apps.shops.models import App, RetiringSecret
from apps.shops.models.redirects import check_redirect_urls

ADD, CHANGE, DELETE = "shops.add_app", "shops.change_app", "shops.delete_app"
_FIELDS = ("name", "distribution", "application_url", "redirect_urls")


class RegistrationForm(scope_fields.ScopesForm):
    """What an app is."""

    name = forms.CharField(
        max_length=255, help_text=gettext_lazy("What staff read when it asks them."), label=gettext_lazy("Name")
    )
    distribution = forms.ChoiceField(
        choices=App.Distribution.choices, label=gettext_lazy("For whom"), initial="private"
    )
    application_url = forms.URLField(
        required=False,
        max_length=2048,
        label=gettext_lazy("Address"),
        help_text=gettext_lazy("Where the app itself is reached, if it has a page."),
    )
    redirect_urls = forms.CharField(
        required=False,
        label=gettext_lazy("Redirect URLs"),
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=gettext_lazy(
            "Where staff may be led back to once they approved, one on each line, each as the app sends it."
        ),
    )

    def __init__(self, data: QueryDict | None = None, *, app: App | None = None) -> None:
        super().__init__(data, scopes=app.registered if app else None)
        if app is not None:
            self.initial = {name: getattr(app, name) for name in _FIELDS}
            self.initial["redirect_urls"] = "\n".join(app.redirect_urls)

    def clean_redirect_urls(self) -> list[str]:
        """The addresses, checked."""
        urls = [line.strip() for line in str(self.cleaned_data["redirect_urls"]).splitlines() if line.strip()]
        check_redirect_urls(urls)
        return urls

    @property
    def values(self) -> Values:
        """What the service takes."""
        return {**{name: self.cleaned_data[name] for name in _FIELDS}, "scopes": self.scopes}

    def refuse(self, error: ValidationError | DomainError) -> None:
        """Show what the service refused."""
        found = error.message_dict if isinstance(error, ValidationError) else error.errors
        for field, texts in found.items():
            self.add_error(field if field in self.fields else None, texts)


@admin.register(App)
class AppAdmin(PanelAdmin[App]):
    """Registrations of apps. A secret is shown once, in the answer to the request that made it."""

    menu = Menu(
        "Apps",
        "apps",
        20,
        gettext_lazy("Own apps"),
        words=pgettext_lazy("search", "api, key, secret, token, developer, oauth, credentials"),
    )
    intro = gettext_lazy(
        "Apps that this shop makes and keeps. Here stands what they ask for; what they may do, each shop decides."
    )
    empty_text = gettext_lazy("This shop keeps no app. Register one to let it ask shops for access.")
    list_display = ("name", "for_whom", "asks_for", "at_work_in")
    list_display_links = ("name",)
    search_fields = ("name__icontains",)
    ordering = ("name", "id")
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[App]:
        """This shop's; for the operator also those that no shop keeps."""
        kept = Q(owner=self.shop(request))
        if in_shop(request).user.is_superuser:
            kept |= Q(owner=None)
        counted = Count("installations", filter=Q(installations__uninstalled_at=None))
        return App.objects.filter(kept, retired_at=None).annotate(shops=counted).order_by(*self.get_ordering(request))

    @display(description=gettext_lazy("For whom"), ordering="distribution")
    def for_whom(self, app: App) -> str:
        """Its distribution."""
        return app.get_distribution_display()

    @display(description=gettext_lazy("Asks for"))
    def asks_for(self, app: App) -> str:
        """How much it asks for."""
        count = len(scope_fields.in_words(app.registered))
        told = ngettext("{number} kind of data", "{number} kinds of data", count)
        return told.format(number=count) if count else _("what each request says")

    @display(description=gettext_lazy("At work in"))
    def at_work_in(self, app: App) -> str:
        """How many shops have it."""
        shops: int = app.shops  # type: ignore[attr-defined]
        return ngettext("{number} shop", "{number} shops", shops).format(number=shops)

    def get_urls(self) -> list[URLPattern]:
        """The pages of the secret and of the first installation, besides Django's own."""
        return [
            self.action_url("<path:object_id>/install/", self.install_view, "install"),
            self.action_url("<path:object_id>/secret/", self.secret_view, "secret", keyed=True),
            self.action_url("<path:object_id>/secret/end-old/", self.end_old_view, "end_old"),
            *super().get_urls(),
        ]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Context | None = None) -> HttpResponse:
        """Register an app."""
        require(request, ADD)
        form = RegistrationForm(posted(request))
        if request.method == "POST" and form.is_valid():
            try:
                return cast("HttpResponse", once_or_back(request, lambda: self._register(request, form), keyed=True))
            except (ValidationError, DomainError) as error:
                form.refuse(error)
        return self.page(request, "panel/apps/registration.html", _("Register an app"), form=form)

    def _register(self, request: HttpRequest, form: RegistrationForm) -> HttpResponse:
        app = registering.register(form.values, owner=self.shop(request), **self.by(request))
        title, onward = _("{name} is registered").format(name=app.name), self.url("change", app.pk)
        return shown_once(self, request, title, onward=onward, app=app, secret=app.api_secret)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        """What an app is, and its secret."""
        require(request, "shops.view_app", CHANGE)
        app = self.row_or_404(request, object_id)
        editable = may(request, CHANGE)
        form = RegistrationForm(posted(request), app=app)
        shown = [getattr(app, name) for name in (*_FIELDS, "registered")]
        if request.method == "POST":
            require(request, CHANGE)
            if form.is_valid() and changed_meanwhile(request, *shown):
                form.add_error(None, MEANWHILE)
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
            seen=mark(*shown),
            editable=editable,
            old_until=RetiringSecret.objects.filter(app=app, until__gt=now).order_by("-until").first(),
            here=authorizing.installed(app, self.shop(request)),
            may_install=may(request, "shops.add_installation"),
            may_remove=may(request, DELETE),
        )

    def _save(self, request: HttpRequest, app: App, form: RegistrationForm) -> bool:
        try:
            changes = registering.change(app, form.values, **self.by(request))
        except (ValidationError, DomainError) as error:
            form.refuse(error)
            return False
        text = (
            _("Saved. Shops that have the app are asked before it may do more.") if "scopes" in changes else _("Saved.")
        )
        self.message_user(request, text, messages.SUCCESS)
        return True

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Context | None = None) -> HttpResponse:
        """Remove the registration of an app that no shop has, after showing what goes."""
        require(request, DELETE)
        app = self.row_or_404(request, object_id)
        if request.method == "POST":
            try:
                registering.retire(app, **self.by(request))
            except DomainError as refusal:
                self.message_user(request, in_words(refusal), messages.ERROR)
                return HttpResponseRedirect(self.url("delete", app.pk))
            self.message_user(request, _("{name} is removed.").format(name=app.name), messages.SUCCESS)
            return HttpResponseRedirect(self.url("changelist"))
        here = authorizing.installed(app, self.shop(request))
        shops: int = app.shops  # type: ignore[attr-defined]
        return self.page(
            request,
            "panel/apps/remove.html",
            _("Remove {name}").format(name=app.name),
            original=app,
            here=here,
            elsewhere=shops - (here is not None),
            may_uninstall=may(request, "shops.delete_installation"),
        )

    def install_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Let an app of this shop's own work here, with what it asks for."""
        require(request, "shops.add_installation")
        return approving.review(self, request, self.row_or_404(request, object_id))

    def secret_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Replace the secret, and show the new one this once; the old one counts on for a while."""
        require(request, CHANGE)
        app = self.row_or_404(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        overlap = OVERLAPS.get(request.POST.get("overlap", ""))
        if overlap is None:
            self.message_user(request, _("Choose how long the old secret shall count on."), messages.ERROR)
            return HttpResponseRedirect(self.url("change", app.pk))
        secret = registering.replace_secret(app, overlap=overlap, **self.by(request))
        return shown_once(self, request, _("The new secret"), onward=self.url("change", app.pk), app=app, secret=secret)

    def end_old_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The app knows the new secret: the old one ends now."""
        require(request, CHANGE)
        app = self.row_or_404(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        registering.end_old_secrets(app, **self.by(request))
        self.message_user(request, _("The old secret counts no more."), messages.SUCCESS)
        return HttpResponseRedirect(self.url("change", app.pk))
