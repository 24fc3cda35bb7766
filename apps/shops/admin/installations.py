"""The apps of a shop: install, scopes, tokens, uninstall."""

from datetime import datetime
from typing import TypeAlias, TypedDict, cast

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Max, OuterRef, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django_stubs_ext import WithAnnotations

from apps.ground.errors import DomainError
from apps.panel import home
from apps.panel.access import may, require
from apps.panel.menu import Menu
from apps.panel.once import once_or_back, posted
from apps.panel.requests import Context
from apps.panel.screens.bases import ShopOwnedAdmin
from apps.panel.seen import MEANWHILE, changed_meanwhile, mark
from apps.panel.theme import display
from apps.panel.wording import in_words
from apps.shops.admin import approving, departures, purchases, scope_fields, tokens
from apps.shops.domain import installing
from apps.shops.domain import purchases as purchasing
from apps.shops.domain.authorizing import asked_beyond
from apps.shops.domain.tokens import issue_token, revoke_token, rotate_tokens
from apps.shops.models import AccessToken, App, AppPurchase, Installation

ADD_TOKEN, CHANGE, DELETE_TOKEN = "shops.add_accesstoken", "shops.change_installation", "shops.delete_accesstoken"


class _LastUse(TypedDict):
    last_used_at: datetime | None


Used: TypeAlias = "WithAnnotations[Installation, _LastUse]"


@admin.register(Installation)
class InstallationAdmin(ShopOwnedAdmin[Installation]):
    """Apps at work in this shop. Tokens are shown once, in the answer to the request that made them."""

    menu = Menu(
        "Apps",
        "extension",
        10,
        gettext_lazy("Apps"),
        words=pgettext_lazy("search", "plugin, extension, add-on, integration, api, token"),
    )
    intro = gettext_lazy(
        "Programs that work for this shop through the interface. Each may do what you grant it, and nothing else."
    )
    empty_text = gettext_lazy("No app is installed. Install one to let a program read or change this shop's data.")
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

    @display(description=gettext_lazy("App"), ordering="app__name")
    def app_name(self, installation: Installation) -> str:
        """Its name."""
        return installation.app.name

    @display(description=gettext_lazy("May"))
    def may_do(self, installation: Installation) -> str:
        """How much it is allowed."""
        words = scope_fields.in_words(installation.scopes)
        changing = sum(degree != scope_fields.SEE for _label, degree in words)
        return (
            _("change {changing}, see {number} kinds of data").format(changing=changing, number=len(words))
            if words
            else _("nothing")
        )

    @display(description=gettext_lazy("Last used"), ordering="last_used_at")
    def last_used(self, installation: Used) -> datetime | str:
        """When a token was last used."""
        return installation.last_used_at or _("never")

    def get_urls(self) -> list[URLPattern]:
        """The pages of tokens and scopes besides Django's own."""
        return [
            self.action_url("authorize/", self.authorize_view, "authorize"),
            self.action_url("<path:object_id>/review/", self.review_view, "review"),
            self.action_url("<path:object_id>/scopes/", self.scopes_view, "scopes"),
            self.action_url("<path:object_id>/tokens/new/", self.new_token_view, "new_token", keyed=True),
            self.action_url("<path:object_id>/tokens/rotate/", self.rotate_view, "rotate", keyed=True),
            self.action_url("<path:object_id>/tokens/<int:token_id>/revoke/", self.revoke_view, "revoke"),
            self.action_url("<path:object_id>/purchases/new/", self.new_purchase_view, "new_purchase", keyed=True),
            self.action_url("<path:object_id>/purchases/<int:purchase_id>/", self.decide_view, "decide"),
            *super().get_urls(),
        ]

    # --- pages ---

    def authorize_view(self, request: HttpRequest) -> HttpResponse:
        """Ask whether an app may have what it asks for."""
        require(request, "shops.add_installation")
        return approving.answer(self, request)

    def review_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask whether an app may have what its registration asks for by now."""
        require(request, "shops.add_installation")
        return approving.review(self, request, self.row_or_404(request, object_id).app)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Context | None = None) -> HttpResponse:
        """Install a new app."""
        require(request, "shops.add_installation")
        form = scope_fields.NewAppForm(posted(request))
        if request.method == "POST" and form.is_valid():
            return cast("HttpResponse", once_or_back(request, lambda: self._install(request, form), keyed=True))
        return self.page(request, "panel/apps/install.html", _("Install an app"), form=form)

    @transaction.atomic
    def _install(self, request: HttpRequest, form: scope_fields.NewAppForm) -> HttpResponse:
        actor, now = self.actor(request), timezone.now()
        values = form.cleaned_data
        app = installing.create_app(
            name=values["name"],
            distribution=App.Distribution.PRIVATE,
            application_url=values["application_url"],
            owner=self.shop(request),
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
            more=[words for words, _degree in scope_fields.in_words(asked_beyond(installation))],
            kept_here=may(request, "shops.view_app") and installation.app.owner_id == self.shop(request).pk,
            may_approve=may(request, "shops.add_installation"),
            tokens=tokens.lines(installation) if may(request, "shops.view_accesstoken") else None,
            may_change=may(request, CHANGE),
            may_add_token=may(request, ADD_TOKEN),
            may_revoke=may(request, DELETE_TOKEN),
            may_uninstall=may(request, "shops.delete_installation"),
            **purchases.listed(request, installation),
        )

    def scopes_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Change what an app may do."""
        require(request, CHANGE)
        installation = self.row_or_404(request, object_id)
        form = scope_fields.ScopesForm(posted(request), scopes=installation.scopes)
        if request.method == "POST" and form.is_valid() and changed_meanwhile(request, installation.scopes):
            form.add_error(None, MEANWHILE)
        if request.method == "POST" and form.is_valid():
            installing.install(installation.app, self.shop(request), scopes=form.scopes, **self.by(request))
            self.message_user(request, _("Saved. It applies from the app's next request."), messages.SUCCESS)
            return HttpResponseRedirect(self.url("change", installation.pk))
        title, seen = _("What {name} may do").format(name=installation.app.name), mark(installation.scopes)
        return self.page(request, "panel/apps/scopes.html", title, original=installation, form=form, seen=seen)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Context | None = None) -> HttpResponse:
        """Uninstall, after showing what goes."""
        require(request, "shops.delete_installation")
        installation = self.row_or_404(request, object_id)
        if request.method == "POST":
            try:
                installing.uninstall(installation, **self.by(request))
            except DomainError as refusal:
                self.message_user(request, in_words(refusal), messages.ERROR)
            else:
                self.message_user(
                    request, _("{name} is uninstalled.").format(name=installation.app.name), messages.SUCCESS
                )
            return HttpResponseRedirect(self.url("changelist"))
        title = _("Uninstall {name}").format(name=installation.app.name)
        goes = departures.counted(installation)
        return self.page(request, "panel/apps/uninstall.html", title, original=installation, goes=goes)

    # --- tokens ---

    def new_token_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Make a further token and show it this once."""
        require(request, ADD_TOKEN)
        installation = self.row_or_404(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        token = issue_token(installation, **self.by(request))
        return self._show_once(request, installation, token)

    def rotate_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Make a new token; the others live on for a while, so that the app can be switched over."""
        require(request, ADD_TOKEN)
        installation = self.row_or_404(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        overlap = tokens.OVERLAPS.get(request.POST.get("overlap", ""))
        if overlap is None:
            self.message_user(request, _("Choose how long the old tokens shall live on."), messages.ERROR)
            return HttpResponseRedirect(self.url("change", installation.pk))
        token = rotate_tokens(installation, overlap=overlap, **self.by(request))
        return self._show_once(request, installation, token)

    def revoke_view(self, request: HttpRequest, object_id: str, token_id: int) -> HttpResponse:
        """Make a token useless at once; its beginning must be typed, so that no slip stops a shop's apps."""
        require(request, DELETE_TOKEN)
        installation = self.row_or_404(request, object_id)
        token = AccessToken.rows().filter(installation=installation, pk=token_id).first()
        if token is None:
            raise Http404(_("The app has no such token."))
        wrong = False
        if request.method == "POST":
            if request.POST.get("confirm", "").strip() == token.prefix:
                revoke_token(token, **self.by(request))
                self.message_user(
                    request, _("The token {prefix}… is revoked.").format(prefix=token.prefix), messages.SUCCESS
                )
                return HttpResponseRedirect(self.url("change", installation.pk))
            wrong = True
        title = _("Revoke a token")
        return self.page(request, "panel/apps/revoke.html", title, original=installation, token=token, wrong=wrong)

    # --- purchases ---

    def new_purchase_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask this shop to pay an app once, on its maker's behalf."""
        require(request, purchases.DECIDE)
        installation = self.row_or_404(request, object_id)
        form = purchases.PurchaseForm(posted(request), installation)
        if request.method == "POST" and form.is_valid():
            try:
                purchasing.offer(installation, **form.cleaned_data, **self.by(request))
            except DomainError as refusal:
                form.refuse(refusal)
            else:
                self.message_user(request, _("Asked. It waits two days for a decision."), messages.SUCCESS)
                return HttpResponseRedirect(self.url("change", installation.pk))
        title = _("A purchase of {name}").format(name=installation.app.name)
        return self.page(request, "panel/apps/purchase.html", title, original=installation, form=form)

    def decide_view(self, request: HttpRequest, object_id: str, purchase_id: int) -> HttpResponse:
        """Approve or decline what an app asked for."""
        require(request, purchases.DECIDE)
        installation = self.row_or_404(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        rows = AppPurchase.rows().filter(installation=installation, pk=purchase_id)
        purchase = rows.select_related("shop", "installation").first()
        if purchase is None:
            raise Http404(_("The app asked for no such purchase."))
        decision = request.POST.get("decision")
        if decision not in {"approve", "decline"}:
            self.message_user(request, _("Choose whether it is approved."), messages.ERROR)
            return HttpResponseRedirect(self.url("change", installation.pk))
        try:
            purchasing.decide(purchase, approve=decision == "approve", **self.by(request))
        except DomainError as refusal:
            self.message_user(request, in_words(refusal), messages.ERROR)
        else:
            done = _("{name} is approved.") if decision == "approve" else _("{name} is declined.")
            self.message_user(request, done.format(name=purchase.name), messages.SUCCESS)
        return HttpResponseRedirect(self.url("change", installation.pk))

    def _show_once(
        self, request: HttpRequest, installation: Installation, token: str, secret: str = ""
    ) -> HttpResponse:
        title = _("{name} is ready").format(name=installation.app.name) if secret else _("The new token")
        onward = self.url("change", installation.pk)
        shown: dict[str, str | bool] = {"token": token, "secret": secret, "no_token": not token}
        return tokens.shown_once(self, request, title, onward=onward, app=installation.app, **shown)


def _installed(request: HttpRequest) -> home.Figure:
    return home.Figure(Installation.rows().filter(uninstalled_at=None).count(), _("installed"))


home.add_card(
    home.Card(gettext_lazy("Apps"), "extension", "shops.view_installation", Installation, _installed, order=60)
)
