from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _

from apps.core.admin.forms.optimistic_lock import EDIT_CONFLICT, compute_fingerprint, has_changed_since_render
from apps.core.admin.model_admin.extra_views import ExtraViewsAdmin
from apps.core.admin.staff_request import as_staff_request
from apps.core.tenancy.access_scopes import expand_scopes
from apps.core.tenancy.models import App, Installation
from apps.core.tenancy.staff_access import find_member
from apps.shops.admin import scope_fields
from apps.shops.domain import app_installation, oauth
from apps.shops.domain.oauth import AuthorizationRequest, OAuthError


@dataclass(frozen=True, slots=True)
class AccessLine:
    label: str
    degree: str
    is_new: bool


def show_authorization_request(model_admin: ExtraViewsAdmin[Any], request: HttpRequest) -> HttpResponse:
    """Show an app's authorization request. After the user's decision, redirect back to the app."""
    shop, user = as_staff_request(request).shop, as_staff_request(request).user
    try:
        authorization_request = _read_request(request)
    except OAuthError as error:
        title = _("This app can't be approved")
        response = model_admin.page(request, "panel/apps/not_approved.html", title, refusal=error)
        response.status_code = 400
        return response
    installation = oauth.find_installation(authorization_request.app, shop)
    fingerprinted = (
        authorization_request.app.name,
        authorization_request.redirect_uri,
        authorization_request.scopes,
        installation.scopes if installation else None,
    )
    now, decision = timezone.now(), request.POST.get("answer")
    if request.method == "POST" and decision == "no":
        return HttpResponseRedirect(oauth.decline_request(authorization_request, at=now))
    is_stale = request.method == "POST" and (
        "seen" not in request.POST or has_changed_since_render(request, *fingerprinted)
    )
    if decision == "yes" and not is_stale:
        return HttpResponseRedirect(oauth.approve_request(authorization_request, user_id=user.pk, at=now))
    current_scopes = installation.all_scopes if installation else frozenset()
    requested_scopes = expand_scopes(authorization_request.scopes)
    resulting_scopes = requested_scopes | current_scopes if authorization_request.per_user else requested_scopes
    member = find_member(user.pk, shop) if authorization_request.per_user else None
    own_scopes = sorted(member.limit_scopes(resulting_scopes)) if member else []
    redirect_target = urlsplit(authorization_request.redirect_uri)
    response = model_admin.page(
        request,
        "panel/apps/authorize.html",
        (_("Update {name}?") if installation else _("Install {name}?")).format(name=authorization_request.app.name),
        asked=authorization_request,
        before=installation,
        lines=_describe_access(resulting_scopes, installation),
        ends=[label for label, _degree in scope_fields.describe_scopes(sorted(current_scopes - resulting_scopes))],
        own=[label for label, _degree in scope_fields.describe_scopes(own_scopes)],
        leads_to=redirect_target.netloc,
        person=user,
        seen=compute_fingerprint(*fingerprinted),
        meanwhile=EDIT_CONFLICT if is_stale else "",
    )
    # The default CSP forbids a form that redirects to another site, so allow the app's site on this page only.
    response._csp_update = {"form-action": [f"{redirect_target.scheme}://{redirect_target.netloc}"]}  # type: ignore[attr-defined]
    add_never_cache_headers(response)
    return response


def show_registration_review(model_admin: ExtraViewsAdmin[Any], request: HttpRequest, app: App) -> HttpResponse:
    """Show an app's registered scopes for approval. The user is not redirected to the app after the decision."""
    shop = as_staff_request(request).shop
    current_installation = oauth.find_installation(app, shop)
    fingerprinted = (app.name, app.requested_scopes, current_installation.scopes if current_installation else None)
    is_stale = request.method == "POST" and (
        "seen" not in request.POST or has_changed_since_render(request, *fingerprinted)
    )
    if request.method == "POST" and not is_stale:
        installation = app_installation.install_app(
            app, shop, scopes=app.requested_scopes, **model_admin.event_kwargs(request)
        )
        model_admin.message_user(
            request, _("{name} now has the requested access.").format(name=app.name), messages.SUCCESS
        )
        return HttpResponseRedirect(reverse("admin:shops_installation_change", args=[installation.pk]))
    current_scopes = current_installation.all_scopes if current_installation else frozenset()
    requested_scopes = expand_scopes(app.requested_scopes)
    return model_admin.page(
        request,
        "panel/apps/review.html",
        (_("Update {name}?") if current_installation else _("Install {name}?")).format(name=app.name),
        app=app,
        before=current_installation,
        lines=_describe_access(requested_scopes, current_installation),
        ends=[label for label, _degree in scope_fields.describe_scopes(sorted(current_scopes - requested_scopes))],
        seen=compute_fingerprint(*fingerprinted),
        meanwhile=EDIT_CONFLICT if is_stale else "",
    )


def _read_request(request: HttpRequest) -> AuthorizationRequest:
    query = request.GET
    names = ("client_id", "redirect_uri", "scope", "state", "response_type")
    for name in names:
        if len(query.getlist(name)) > 1:
            raise OAuthError("invalid_request", _("{name} must not occur more than once.").format(name=name))
    values = {name: query.get(name, "") for name in names}
    options = [*query.getlist("grant_options[]"), *query.getlist("grant_options")]
    return oauth.check_authorization_request(as_staff_request(request).shop, grant_options=options, **values)


def _describe_access(scopes: frozenset[str], installation: Installation | None) -> list[AccessLine]:
    """Return the access that the app will have after approval. New access is marked if the app is already installed."""
    current_degrees = dict(scope_fields.describe_scopes(installation.scopes)) if installation else None
    return [
        AccessLine(
            label,
            degree,
            current_degrees is not None
            and current_degrees.get(label) != degree
            and current_degrees.get(label) != scope_fields.WRITE_ACCESS,
        )
        for label, degree in scope_fields.describe_scopes(sorted(scopes))
    ]
