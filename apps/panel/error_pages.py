"""The panel's error pages. They stand on their own: they must work where everything else does not."""

import sys
from datetime import date

from django.contrib.auth import get_permission_codename
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from apps.events.domain.recording import record_event
from apps.ground.errors import DomainError
from apps.ground.outages import MOVING, RETRY_AFTER, is_full, is_outage, is_read_only
from apps.panel.access import MissingPermission, may
from apps.panel.addresses import outside_url, panel_prefix
from apps.panel.requests import shop_of
from apps.panel.wording import in_words
from apps.staff.domain.actors import actor_of
from apps.staff.domain.permission_labels import granting_in_words
from apps.staff.models import Membership, User

_ACTIONS = {"changelist": "view", "add": "add", "change": "view", "delete": "delete", "history": "view"}


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400: the request cannot be understood."""
    return _page(request, 400, _("Bad request"), _("This request cannot be understood. Go back and try again."))


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: names the permission that is missing, and whom to ask; who has it is told that nobody may do this."""
    shop = shop_of(request)
    owner = None
    view_only: list[str] = []
    lacking = _lacking(request, exception)
    if shop is not None and isinstance(request.user, User):
        owner = Membership.rows().filter(account_owner=True).select_related("user").order_by("id").first()
        place = Membership.rows().filter(user=request.user).first()
        view_only = place.view_only if place else []
        if may(request, *lacking):
            lacking = ()
        if request.method not in {"GET", "HEAD", "OPTIONS"}:
            _note_refusal(request)
    return _page(
        request,
        403,
        _("You may not do this"),
        "" if shop else _("This page is for the operator of this installation."),
        missing=granting_in_words(lacking, view_only=view_only),
        owner=owner.user if owner and owner.user != request.user else None,
    )


def second_factor_required(request: HttpRequest, day: date) -> HttpResponse:
    """403: this shop, or the whole installation, lets nobody in without a second factor since a day."""
    if shop_of(request) is not None and request.method not in {"GET", "HEAD", "OPTIONS"}:
        _note_refusal(request)
    text = (
        _(
            "Since {day} a second factor is required here: a code from your phone besides your password."
            " Set it up now; it takes two minutes."
        )
    ).format(day=date_format(day))
    set_up = outside_url("mfa_activate_totp")
    return _page(request, 403, _("Set up two-factor authentication"), text, set_up=set_up)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403: the form came without its key."""
    text = _(
        "The form was open too long, or it came from elsewhere. Nothing has been changed. Go back, reload, try again."
    )
    return _page(request, 403, _("This form is no longer valid"), text)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404: there is nothing here, or nothing that you may know of."""
    text = _("There is nothing at this address. It may have been removed, or it belongs to a shop that you are not in.")
    return _page(request, 404, _("Page not found"), text)


def server_error(request: HttpRequest) -> HttpResponse:
    """500: our fault; 503 while the database or the files do not serve, which is no reason to look for a fault."""
    error = sys.exception()
    if is_read_only(error):
        return _unavailable(request, MOVING)
    if is_outage(error):
        return _unavailable(request, _("The database does not answer at the moment."))
    if is_full(error):
        return _unavailable(request, _("There is no room for the file at the moment."))
    if isinstance(error, DomainError) and error.status == 503:
        return _unavailable(request, in_words(error))
    text = _("Something went wrong on our side. Nothing of what you just did was saved. Please try again.")
    return _page(request, 500, _("Something went wrong"), text)


def _unavailable(request: HttpRequest, reason: str) -> HttpResponse:
    """A page that asks nothing of the database: neither who is logged in nor what was to be told them."""
    context = {
        "status": 503,
        "title": _("Not available at the moment"),
        "text": _("{reason} Nothing of what you just did was saved. Try again in a moment.").format(reason=reason),
        "request_id": getattr(request, "request_id", ""),
    }
    body = render_to_string("errors/error.html", context)
    return HttpResponse(body, status=503, headers={"Retry-After": RETRY_AFTER})


def _page(request: HttpRequest, status: int, title: str, text: str, **context: object) -> HttpResponse:
    shop = shop_of(request)
    common = {
        "status": status,
        "title": title,
        "text": text,
        "home": panel_prefix(shop) if shop else "/admin/",
        "request_id": getattr(request, "request_id", ""),
    }
    return render(request, "errors/error.html", common | context, status=status)


def _lacking(request: HttpRequest, exception: Exception) -> tuple[str, ...]:
    """The Django permissions of which one would have done."""
    if isinstance(exception, MissingPermission):
        return exception.permissions
    match = request.resolver_match
    model_admin = getattr(match.func, "model_admin", None) if match else None
    if match is None or model_admin is None or match.url_name is None:
        return ()
    action = _ACTIONS.get(match.url_name.rsplit("_", 1)[-1], "change")
    if action == "view" and request.method == "POST":
        action = "change"
    return (f"{model_admin.opts.app_label}.{get_permission_codename(action, model_admin.opts)}",)


def _note_refusal(request: HttpRequest) -> None:
    """An attempt to change something without the permission belongs into the audit log."""
    assert isinstance(request.user, User)
    place = Membership.rows().filter(user=request.user).select_related("user").first()
    if place is None:
        return
    message = f"Was refused: {request.method} {request.path}"[:500]
    with transaction.atomic():
        record_event("staff/refused", place, actor=actor_of(request.user), at=timezone.now(), message=message)
