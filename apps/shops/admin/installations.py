"""The apps of a shop: install, scopes, tokens, uninstall."""

from datetime import datetime, timedelta
from typing import TypeAlias, TypedDict

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Max, OuterRef, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django_stubs_ext import WithAnnotations

from apps.ground.errors import DomainError
from apps.panel import home
from apps.panel.access import may, require
from apps.panel.menu import Menu
from apps.panel.once import form_key, posted, spend
from apps.panel.requests import Context
from apps.panel.screens.bases import ShopOwnedAdmin
from apps.panel.theme import display
from apps.shops.admin import departures, scope_fields, tokens
from apps.shops.domain import installing
from apps.shops.domain.tokens import issue_token, revoke_token, rotate_tokens
from apps.shops.models import AccessToken, App, Installation

OVERLAPS = {"0": timedelta(0), "1": timedelta(hours=1), "24": timedelta(days=1), "168": timedelta(days=7)}
ADD_TOKEN, CHANGE, DELETE_TOKEN = "shops.add_accesstoken", "shops.change_installation", "shops.delete_accesstoken"
SPENT = "This form was sent already, so nothing happened again. A token is shown once; make another if it is lost."


class _LastUse(TypedDict):
    last_used_at: datetime | None


Used: TypeAlias = "WithAnnotations[Installation, _LastUse]"


@admin.register(Installation)
class InstallationAdmin(ShopOwnedAdmin[Installation]):
    """Apps at work in this shop. Tokens are shown once, in the answer to the request that made them."""

    menu = Menu("Apps", "extension", 10, "Apps")
    intro = "Programs that work for this shop through the interface. Each may do what you grant it, and nothing else."
    empty_text = "No app is installed. Install one to let a program read or change this shop's data."
    list_display = ("app_name", "may_do", "created_at", "last_used")
    list_display_links = ("app_name",)
    search_fields = ("app__name__icontains",)
    ordering = ("app__name", "id")
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Installation]:
        """What is installed now, with the last use of any token."""
        used = (
            AccessToken.rows()
            .filter(installation=OuterRef("pk"))
            .order_by()
            .values("installation")
            .annotate(last=Max("last_used_at"))
            .values("last")
        )
        queryset = super().get_queryset(request).filter(uninstalled_at=None).select_related("app")
        return queryset.annotate(last_used_at=Subquery(used))

    @display(description="App", ordering="app__name")
    def app_name(self, installation: Installation) -> str:
        """Its name."""
        return installation.app.name

    @display(description="May")
    def may_do(self, installation: Installation) -> str:
        """How much it is allowed."""
        words = scope_fields.in_words(installation.scopes)
        changing = sum(degree != "see" for _, degree in words)
        return f"change {changing}, see {len(words)} kinds of data" if words else "nothing"

    @display(description="Last used", ordering="last_used_at", empty_value="never")
    def last_used(self, installation: Used) -> datetime | None:
        """When a token was last used."""
        return installation.last_used_at

    def get_urls(self) -> list[URLPattern]:
        """The pages of tokens and scopes besides Django's own."""
        return [
            self.action_url("<path:object_id>/scopes/", self.scopes_view, "scopes"),
            self.action_url("<path:object_id>/tokens/new/", self.new_token_view, "new_token"),
            self.action_url("<path:object_id>/tokens/rotate/", self.rotate_view, "rotate"),
            self.action_url("<path:object_id>/tokens/<int:token_id>/revoke/", self.revoke_view, "revoke"),
            *super().get_urls(),
        ]

    # --- pages ---

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Context | None = None) -> HttpResponse:
        """Install a new app."""
        require(request, "shops.add_installation")
        form = scope_fields.NewAppForm(posted(request))
        if request.method == "POST" and form.is_valid():
            if not spend(request):
                return self._already_done(request, self.url("changelist"))
            return self._install(request, form)
        return self.page(request, "panel/apps/install.html", "Install an app", form=form, form_key=form_key(request))

    @transaction.atomic
    def _install(self, request: HttpRequest, form: scope_fields.NewAppForm) -> HttpResponse:
        actor, now = self.actor(request), timezone.now()
        values = form.cleaned_data
        app = installing.create_app(
            name=values["name"], distribution=App.Distribution.PRIVATE, application_url=values["application_url"]
        )
        installation = installing.install(app, self.shop(request), scopes=form.scopes, actor=actor, at=now)
        token = issue_token(installation, actor=actor, at=now) if may(request, ADD_TOKEN) else ""
        return self._show_once(request, installation, token, secret=app.api_secret)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        """An app: what it may do, and its tokens."""
        require(request, "shops.view_installation", CHANGE)
        installation = self.row_or_404(request, object_id)
        return self.page(
            request,
            "panel/apps/detail.html",
            installation.app.name,
            original=installation,
            scopes=scope_fields.in_words(installation.scopes),
            tokens=tokens.lines(installation) if may(request, "shops.view_accesstoken") else None,
            may_change=may(request, CHANGE),
            may_add_token=may(request, ADD_TOKEN),
            may_revoke=may(request, DELETE_TOKEN),
            may_uninstall=may(request, "shops.delete_installation"),
            form_key=form_key(request),
        )

    def scopes_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Change what an app may do."""
        require(request, CHANGE)
        installation = self.row_or_404(request, object_id)
        form = scope_fields.ScopesForm(posted(request), scopes=installation.scopes)
        if request.method == "POST" and form.is_valid():
            installing.install(installation.app, self.shop(request), scopes=form.scopes, **self.by(request))
            self.message_user(request, "Saved. It applies from the app's next request.", messages.SUCCESS)
            return HttpResponseRedirect(self.url("change", installation.pk))
        title = f"What {installation.app.name} may do"
        return self.page(request, "panel/apps/scopes.html", title, original=installation, form=form)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Context | None = None) -> HttpResponse:
        """Uninstall, after showing what goes."""
        require(request, "shops.delete_installation")
        installation = self.row_or_404(request, object_id)
        if request.method == "POST":
            try:
                installing.uninstall(installation, **self.by(request))
            except DomainError as refusal:
                self.message_user(request, refusal.sentence, messages.ERROR)
            else:
                self.message_user(request, f"{installation.app.name} is uninstalled.", messages.SUCCESS)
            return HttpResponseRedirect(self.url("changelist"))
        title = f"Uninstall {installation.app.name}"
        goes = departures.counted(installation)
        return self.page(request, "panel/apps/uninstall.html", title, original=installation, goes=goes)

    # --- tokens ---

    def new_token_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Make a further token and show it this once."""
        require(request, ADD_TOKEN)
        installation = self.row_or_404(request, object_id)
        if refused := self._not_once(request, installation):
            return refused
        token = issue_token(installation, **self.by(request))
        return self._show_once(request, installation, token)

    def rotate_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Make a new token; the others live on for a while, so that the app can be switched over."""
        require(request, ADD_TOKEN)
        installation = self.row_or_404(request, object_id)
        if refused := self._not_once(request, installation):
            return refused
        overlap = OVERLAPS.get(request.POST.get("overlap", ""))
        if overlap is None:
            self.message_user(request, "Choose how long the old tokens shall live on.", messages.ERROR)
            return HttpResponseRedirect(self.url("change", installation.pk))
        token = rotate_tokens(installation, overlap=overlap, **self.by(request))
        return self._show_once(request, installation, token)

    def revoke_view(self, request: HttpRequest, object_id: str, token_id: int) -> HttpResponse:
        """Make a token useless at once; its beginning must be typed, so that no slip stops a shop's apps."""
        require(request, DELETE_TOKEN)
        installation = self.row_or_404(request, object_id)
        token = AccessToken.rows().filter(installation=installation, pk=token_id).first()
        if token is None:
            raise Http404("The app has no such token.")
        wrong = False
        if request.method == "POST":
            if request.POST.get("confirm", "").strip() == token.prefix:
                revoke_token(token, **self.by(request))
                self.message_user(request, f"The token {token.prefix}… is revoked.", messages.SUCCESS)
                return HttpResponseRedirect(self.url("change", installation.pk))
            wrong = True
        title = "Revoke a token"
        return self.page(request, "panel/apps/revoke.html", title, original=installation, token=token, wrong=wrong)

    def _not_once(self, request: HttpRequest, installation: Installation) -> HttpResponse | None:
        """What stands against making a token now: the method, or a form that was sent before."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        return None if spend(request) else self._already_done(request, self.url("change", installation.pk))

    def _already_done(self, request: HttpRequest, address: str) -> HttpResponse:
        self.message_user(request, SPENT, messages.WARNING)
        return HttpResponseRedirect(address)

    def _show_once(
        self, request: HttpRequest, installation: Installation, token: str, secret: str = ""
    ) -> HttpResponse:
        """The answer that holds the token. It is neither stored nor redirected to, so no later request can show it."""
        response = self.page(
            request,
            "panel/apps/token.html",
            f"{installation.app.name} is ready" if secret else "The new token",
            original=installation,
            token=token,
            secret=secret,
            api_key=installation.app.api_key,
        )
        add_never_cache_headers(response)
        return response


def _installed(request: HttpRequest) -> home.Figure:
    return home.Figure(Installation.rows().filter(uninstalled_at=None).count(), "installed")


home.add_card(
    home.Card("Apps", "extension", "shops.view_installation", "shops_installation_changelist", _installed, order=60)
)
