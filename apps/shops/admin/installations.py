from datetime import datetime
from typing import TypedDict, cast

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Max, OuterRef, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django_stubs_ext import WithAnnotations

from apps.core.admin.forms.error_display import add_domain_errors, format_errors
from apps.core.admin.forms.idempotency import get_post_data, submit_once_or_redirect
from apps.core.admin.forms.optimistic_lock import EDIT_CONFLICT, compute_fingerprint, has_changed_since_render
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import extra_view, row_view
from apps.core.admin.permissions import has_permission, require_permission
from apps.core.admin.staff_request import Context
from apps.core.admin.theme import attribute_column, display
from apps.core.exceptions import DomainError
from apps.core.tenancy.models import AccessToken, App, Installation
from apps.core.tenancy.models.apps import SHOP_APP_PREFIX
from apps.shops.admin import charges, oauth_approval, purchases, scope_fields, tokens, uninstall_preview
from apps.shops.domain import app_installation
from apps.shops.domain import purchases as purchasing
from apps.shops.domain.oauth import get_ungranted_scopes
from apps.shops.domain.tokens import issue_token, revoke_token, rotate_tokens
from apps.shops.models import AppPurchase, RecurringCharge, ShopFeedback

ADD_TOKEN, CHANGE, DELETE_TOKEN = "shops.add_accesstoken", "shops.change_installation", "shops.delete_accesstoken"


def _exclude_shop_app(installations: QuerySet[Installation]) -> QuerySet[Installation]:
    """Return the installed apps without the shop's own app, which has no page."""
    return installations.filter(uninstalled_at=None).exclude(app__api_key__startswith=SHOP_APP_PREFIX)


class _LastUse(TypedDict):
    last_used_at: datetime | None


@admin.register(Installation)
class InstallationAdmin(ShopOwnedAdmin[Installation]):
    """The model admin for installed apps. A new token is only shown once, directly after it is created."""

    menu = MenuItem("Apps", "extension", 10, gettext_lazy("Apps"))
    search_terms = pgettext_lazy("search", "plugin, extension, add-on, integration, api, token")
    intro = gettext_lazy("Programs that connect to this shop. Each app only has the access that you grant.")
    empty_text = gettext_lazy("No apps yet. Install an app to connect a program to this shop.")
    list_display = ("app_name", "may_do", "created_at", "last_used")
    list_display_links = ("app_name",)
    search_fields = ("app__name__icontains",)
    ordering = ("app__name", "id")
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Installation]:
        last_use = (
            AccessToken.rows()
            .filter(installation=OuterRef("pk"))
            .order_by()
            .values("installation")
            .annotate(last=Max("last_used_at"))
            .values("last")
        )
        return (
            _exclude_shop_app(super().get_queryset(request))
            .select_related("app")
            .annotate(last_used_at=Subquery(last_use))
        )

    app_name = attribute_column("app.name", gettext_lazy("App"), ordering="app__name")

    @display(description=gettext_lazy("Access"))
    def may_do(self, installation: Installation) -> str:
        access = scope_fields.describe_scopes(installation.scopes)
        changing = sum(degree != scope_fields.READ_ACCESS for _label, degree in access)
        return (
            _("can edit {changing} of {number} data types").format(changing=changing, number=len(access))
            if access
            else _("no access")
        )

    @display(description=gettext_lazy("Last used"), ordering="last_used_at")
    def last_used(self, installation: "WithAnnotations[Installation, _LastUse]") -> datetime | str:
        return installation.last_used_at or _("never")

    @extra_view("authorize/", "shops.add_installation")
    def authorize_view(self, request: HttpRequest) -> HttpResponse:
        return oauth_approval.show_authorization_request(self, request)

    @extra_view("<path:object_id>/review/", "shops.add_installation")
    def review_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return oauth_approval.show_registration_review(self, request, self.get_row_or_404(request, object_id).app)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Context | None = None) -> HttpResponse:
        require_permission(request, "shops.add_installation")
        form = scope_fields.NewAppForm(get_post_data(request))
        if request.method == "POST" and form.is_valid():
            return cast(
                "HttpResponse", submit_once_or_redirect(request, lambda: self._install(request, form), keyed=True)
            )
        return self.page(request, "panel/apps/install.html", _("Install app"), form=form)

    @transaction.atomic
    def _install(self, request: HttpRequest, form: scope_fields.NewAppForm) -> HttpResponse:
        actor, now = self.actor(request), timezone.now()
        values = form.cleaned_data
        app = app_installation.create_app(
            name=values["name"],
            distribution=App.Distribution.PRIVATE,
            application_url=values["application_url"],
            owner=self.shop(request),
        )
        installation = app_installation.install_app(app, self.shop(request), scopes=form.scopes, actor=actor, at=now)
        token = issue_token(installation, actor=actor, at=now) if has_permission(request, ADD_TOKEN) else ""
        return self._show_once(request, installation, token, secret=app.api_secret)

    @row_view("change/", "shops.view_installation", CHANGE, name="change")
    def detail_view(self, request: HttpRequest, installation: Installation) -> HttpResponse:
        return self.page(
            request,
            "panel/apps/detail.html",
            installation.app.name,
            original=installation,
            scopes=scope_fields.describe_scopes(installation.scopes),
            more=[words for words, _degree in scope_fields.describe_scopes(get_ungranted_scopes(installation))],
            kept_here=has_permission(request, "shops.view_app") and installation.app.owner_id == self.shop(request).pk,
            may_approve=has_permission(request, "shops.add_installation"),
            tokens=tokens.get_token_lines(installation) if has_permission(request, "shops.view_accesstoken") else None,
            may_change=has_permission(request, CHANGE),
            may_add_token=has_permission(request, ADD_TOKEN),
            may_revoke=has_permission(request, DELETE_TOKEN),
            overlaps=tokens.OVERLAPS,
            may_uninstall=has_permission(request, "shops.delete_installation"),
            feedback=ShopFeedback.rows().filter(app_id=installation.app_id, state="requires_action").first(),
            charges=charges.get_charge_lines(installation),
            **purchases.get_purchases_context(request, installation),
        )

    @row_view("scopes/", CHANGE)
    def scopes_view(self, request: HttpRequest, installation: Installation) -> HttpResponse:
        form = scope_fields.ScopesForm(get_post_data(request), scopes=installation.scopes)
        if request.method == "POST" and form.is_valid() and has_changed_since_render(request, installation.scopes):
            form.add_error(None, EDIT_CONFLICT)
        if request.method == "POST" and form.is_valid():
            app_installation.install_app(
                installation.app, self.shop(request), scopes=form.scopes, **self.event_kwargs(request)
            )
            self.message_user(
                request, _("Saved. The change takes effect with the app's next request."), messages.SUCCESS
            )
            return HttpResponseRedirect(self.url("change", installation.pk))
        title, seen = (
            _("Access for {name}").format(name=installation.app.name),
            compute_fingerprint(installation.scopes),
        )
        return self.page(request, "panel/apps/scopes.html", title, original=installation, form=form, seen=seen)

    @row_view("delete/", "shops.delete_installation", name="delete")
    def remove_view(self, request: HttpRequest, installation: Installation) -> HttpResponse:
        if request.method == "POST":
            try:
                app_installation.uninstall_app(installation, **self.event_kwargs(request))
            except DomainError as error:
                self.message_user(request, format_errors(error), messages.ERROR)
            else:
                self.message_user(
                    request, _("{name} uninstalled.").format(name=installation.app.name), messages.SUCCESS
                )
            return HttpResponseRedirect(self.url("changelist"))
        title = _("Uninstall {name}").format(name=installation.app.name)
        deleted_counts = uninstall_preview.count_deleted_rows(installation)
        return self.page(request, "panel/apps/uninstall.html", title, original=installation, goes=deleted_counts)

    @row_view("tokens/new/", ADD_TOKEN, post_only=True, keyed=True)
    def new_token_view(self, request: HttpRequest, installation: Installation) -> HttpResponse:
        token = issue_token(installation, **self.event_kwargs(request))
        return self._show_once(request, installation, token)

    @row_view("tokens/rotate/", ADD_TOKEN, post_only=True, keyed=True)
    def rotate_view(self, request: HttpRequest, installation: Installation) -> HttpResponse:
        """Create a new token. The old tokens expire later, so that the app has time to switch to the new token."""
        overlap = tokens.get_overlap(request)
        if overlap is None:
            self.message_user(request, _("Choose how long the old tokens stay valid."), messages.ERROR)
            return HttpResponseRedirect(self.url("change", installation.pk))
        token = rotate_tokens(installation, overlap=overlap, **self.event_kwargs(request))
        return self._show_once(request, installation, token)

    @row_view("tokens/<int:token_id>/revoke/", DELETE_TOKEN)
    def revoke_view(self, request: HttpRequest, installation: Installation, token_id: int) -> HttpResponse:
        """Revoke a token immediately. The user confirms this by typing the beginning of the token."""
        token = AccessToken.rows().filter(installation=installation, pk=token_id).first()
        if token is None:
            raise Http404(_("This app has no token with this ID."))
        wrong = request.method == "POST" and request.POST.get("confirm", "").strip() != token.prefix
        if request.method == "POST" and not wrong:
            revoke_token(token, **self.event_kwargs(request))
            self.message_user(request, _("Token {prefix}… revoked.").format(prefix=token.prefix), messages.SUCCESS)
            return HttpResponseRedirect(self.url("change", installation.pk))
        title = _("Revoke token")
        return self.page(request, "panel/apps/revoke.html", title, original=installation, token=token, wrong=wrong)

    @row_view("purchases/new/", purchases.CREATE, keyed=True)
    def new_purchase_view(self, request: HttpRequest, installation: Installation) -> HttpResponse:
        form = purchases.PurchaseForm(get_post_data(request), installation)
        if request.method == "POST" and form.is_valid():
            try:
                purchasing.create_purchase(installation, **form.cleaned_data, **self.event_kwargs(request))
            except DomainError as error:
                add_domain_errors(form, error)
            else:
                self.message_user(
                    request,
                    _("Purchase created. It will expire if the shop does not approve it within two days."),
                    messages.SUCCESS,
                )
                return HttpResponseRedirect(self.url("change", installation.pk))
        title = _("Purchase for {name}").format(name=installation.app.name)
        return self.page(request, "panel/apps/purchase.html", title, original=installation, form=form)

    @row_view("purchases/<int:purchase_id>/", purchases.DECIDE)
    def decide_view(self, request: HttpRequest, installation: Installation, purchase_id: int) -> HttpResponse:
        rows = AppPurchase.rows().filter(installation=installation, pk=purchase_id)
        purchase = rows.select_related("shop", "installation").first()
        if purchase is None:
            raise Http404(_("Purchase not found."))
        return charges.show_charge(self, request, installation, purchase)

    @row_view("charges/<int:charge_id>/", purchases.DECIDE)
    def charge_view(self, request: HttpRequest, installation: Installation, charge_id: int) -> HttpResponse:
        rows = RecurringCharge.rows().filter(installation=installation, pk=charge_id)
        charge = rows.select_related("shop", "installation").first()
        if charge is None:
            raise Http404(_("Charge not found."))
        return charges.show_charge(self, request, installation, charge)

    def _show_once(
        self, request: HttpRequest, installation: Installation, token: str, secret: str = ""
    ) -> HttpResponse:
        title = _("{name} is installed").format(name=installation.app.name) if secret else _("New token")
        continue_url = self.url("change", installation.pk)
        return tokens.render_secret_once(
            self,
            request,
            title,
            continue_url=continue_url,
            app=installation.app,
            token=token,
            secret=secret,
            no_token=not token,
        )
