"""The page that asks staff whether an app may have what it asks for."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _

from apps.panel.requests import in_shop
from apps.panel.screens.pages import ScreenPages
from apps.panel.seen import MEANWHILE, changed_meanwhile, mark
from apps.shops.admin import scope_fields
from apps.shops.domain import authorizing, installing
from apps.shops.domain.authorizing import Asked, AuthorizationRefused
from apps.shops.models import App, Installation
from apps.shops.models.scopes import expand
from apps.staff.domain.acting import member_of


@dataclass(frozen=True, slots=True)
class Line:
    """A kind of data, what the app may do with it, and whether that is more than it may do now."""

    label: str
    degree: str
    is_new: bool


def answer(screen: ScreenPages[Any], request: HttpRequest) -> HttpResponse:
    """Show what an app asks for; with an answer, lead the person back to the app."""
    shop, user = in_shop(request).shop, in_shop(request).user
    try:
        asked = _asked(request)
    except AuthorizationRefused as refusal:
        title = _("This app cannot be approved")
        response = screen.page(request, "panel/apps/not_approved.html", title, refusal=refusal)
        response.status_code = 400
        return response
    before = authorizing.installed(asked.app, shop)
    shown = (asked.app.name, asked.redirect_uri, asked.scopes, before.scopes if before else None)
    now, given = timezone.now(), request.POST.get("answer")
    if request.method == "POST" and given == "no":
        return HttpResponseRedirect(authorizing.decline(asked, at=now))
    meanwhile = request.method == "POST" and ("seen" not in request.POST or changed_meanwhile(request, *shown))
    if given == "yes" and not meanwhile:
        return HttpResponseRedirect(authorizing.approve(asked, user_id=user.pk, at=now))
    held = before.granted if before else frozenset()
    wanted = expand(asked.scopes)
    after = wanted | held if asked.per_user else wanted
    leads_to = urlsplit(asked.redirect_uri)
    response = screen.page(
        request,
        "panel/apps/authorize.html",
        (_("Update {name}?") if before else _("Install {name}?")).format(name=asked.app.name),
        asked=asked,
        before=before,
        lines=_lines(after, before),
        ends=[label for label, _degree in scope_fields.in_words(sorted(held - after))],
        own=[label for label, _degree in _within(sorted(after), user.pk, asked)],
        leads_to=leads_to.netloc,
        person=user,
        seen=mark(*shown),
        meanwhile=MEANWHILE if meanwhile else "",
    )
    # The answer to the form leads to the app, which this page alone may do.
    response._csp_update = {"form-action": [f"{leads_to.scheme}://{leads_to.netloc}"]}  # type: ignore[attr-defined]
    add_never_cache_headers(response)
    return response


def review(screen: ScreenPages[Any], request: HttpRequest, app: App) -> HttpResponse:
    """Ask whether an app may have what its registration asks for; whoever approves here came from nowhere else."""
    shop = in_shop(request).shop
    before = authorizing.installed(app, shop)
    shown = (app.name, app.registered, before.scopes if before else None)
    meanwhile = request.method == "POST" and ("seen" not in request.POST or changed_meanwhile(request, *shown))
    if request.method == "POST" and not meanwhile:
        installation = installing.install(app, shop, scopes=app.registered, **screen.by(request))
        screen.message_user(request, _("{name} may do what it asks for.").format(name=app.name), messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:shops_installation_change", args=[installation.pk]))
    held, wanted = before.granted if before else frozenset(), expand(app.registered)
    return screen.page(
        request,
        "panel/apps/review.html",
        (_("Update {name}?") if before else _("Install {name}?")).format(name=app.name),
        app=app,
        before=before,
        lines=_lines(wanted, before),
        ends=[label for label, _degree in scope_fields.in_words(sorted(held - wanted))],
        seen=mark(*shown),
        meanwhile=MEANWHILE if meanwhile else "",
    )


def _asked(request: HttpRequest) -> Asked:
    """What the query says.

    Raises:
        AuthorizationRefused: It cannot be asked so.
    """
    query = request.GET
    names = ("client_id", "redirect_uri", "scope", "state", "response_type")
    for name in names:
        if len(query.getlist(name)) > 1:
            raise AuthorizationRefused("invalid_request", _("{name} must be given once.").format(name=name))
    values = {name: query.get(name, "") for name in names}
    options = [*query.getlist("grant_options[]"), *query.getlist("grant_options")]
    return authorizing.read_request(in_shop(request).shop, grant_options=options, **values)


def _lines(scopes: frozenset[str], before: Installation | None) -> list[Line]:
    """What the app may do after a yes, with what is new in it where it is installed."""
    known = dict(scope_fields.in_words(before.scopes)) if before else None
    return [
        Line(
            label, degree, known is not None and known.get(label) != degree and known.get(label) != scope_fields.CHANGE
        )
        for label, degree in scope_fields.in_words(sorted(scopes))
    ]


def _within(scopes: list[str], user_id: int, asked: Asked) -> list[tuple[str, str]]:
    """Where the app acts as the person: what of it stays within what they may do themselves."""
    member = member_of(user_id, asked.shop) if asked.per_user else None
    return scope_fields.in_words(sorted(authorizing.narrow(expand(scopes), member))) if member else []
