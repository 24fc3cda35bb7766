"""The panel's error pages. These pages use as little code as possible, so that they work even if other parts fail."""

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

from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.permissions import REFUSED, MissingPermission, has_permission
from apps.core.admin.reverse import get_global_url, get_panel_prefix
from apps.core.admin.staff_request import get_request_shop
from apps.core.db.transient_errors import (
    RETRY_AFTER,
    SHOP_MOVING_MESSAGE,
    is_disk_full,
    is_read_only_shop_error,
    is_transient_db_error,
)
from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError
from apps.core.tenancy.actor_names import get_staff_actor
from apps.core.tenancy.models import Membership, User
from apps.core.tenancy.permissions import get_granting_labels

_ACTIONS = {"changelist": "view", "add": "add", "change": "view", "delete": "delete", "history": "view"}


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _render_page(request, 400, _("Bad request"), _("The request is invalid. Go back and try again."))


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Render the 403 page with the missing permission and the account owner, who can grant it.

    If the user has the permission, the request was refused for another reason, and the page names no permission.
    """
    shop = get_request_shop(request)
    owner = None
    view_only: list[str] = []
    missing = _get_missing_permissions(request, exception)
    if shop is not None and isinstance(request.user, User):
        owner = Membership.rows().filter(account_owner=True).select_related("user").order_by("id").first()
        membership = Membership.rows().filter(user=request.user).first()
        view_only = membership.view_only if membership else []
        if has_permission(request, *missing):
            missing = ()
        if request.method not in {"GET", "HEAD", "OPTIONS"}:
            _record_refused_attempt(request)
    return _render_page(
        request,
        403,
        _("Permission required"),
        "" if shop else _("This page is only available to operators of this installation."),
        missing=get_granting_labels(missing, view_only=view_only),
        owner=owner.user if owner and owner.user != request.user else None,
    )


def render_second_factor_required(request: HttpRequest, day: date) -> HttpResponse:
    if get_request_shop(request) is not None and request.method not in {"GET", "HEAD", "OPTIONS"}:
        _record_refused_attempt(request)
    template = _(
        "Two-factor authentication has been required here since {day}. Set it up now. This takes about two minutes."
    )
    text = template.format(day=date_format(day))
    set_up = get_global_url("mfa_activate_totp")
    return _render_page(request, 403, _("Set up two-factor authentication"), text, set_up=set_up)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    text = _(
        "The form has expired or was sent from another site. Nothing has been changed. Go back, reload the page and "
        "try again."
    )
    return _render_page(request, 403, _("This form is no longer valid"), text)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    text = _(
        "There is no page at this address. It may have been deleted, or it belongs to a shop that you don't have "
        "access to."
    )
    return _render_page(request, 404, _("Page not found"), text)


def server_error(request: HttpRequest) -> HttpResponse:
    """Render the 500 page, or the 503 page if the shop is read-only or the database or file storage is unavailable."""
    error = sys.exception()
    if is_read_only_shop_error(error):
        return _render_unavailable(request, SHOP_MOVING_MESSAGE)
    if is_transient_db_error(error):
        return _render_unavailable(request, _("The database is not responding."))
    if is_disk_full(error):
        return _render_unavailable(request, _("There is not enough storage space for the file."))
    if isinstance(error, DomainError) and error.status == 503:
        return _render_unavailable(request, format_errors(error))
    text = _("Something went wrong on our side. Your changes were not saved. Try again.")
    return _render_page(request, 500, _("Something went wrong"), text)


def _render_unavailable(request: HttpRequest, reason: str) -> HttpResponse:
    """Render the 503 page without database queries. The page therefore shows neither the user nor pending messages."""
    context = {
        "status": 503,
        "title": _("Temporarily unavailable"),
        "text": _("{reason} Your changes were not saved. Try again in a moment.").format(reason=reason),
        "request_id": getattr(request, "request_id", ""),
    }
    body = render_to_string("errors/error.html", context)
    return HttpResponse(body, status=503, headers={"Retry-After": RETRY_AFTER})


def _render_page(request: HttpRequest, status: int, title: str, text: str, **context: object) -> HttpResponse:
    shop = get_request_shop(request)
    common = {
        "status": status,
        "title": title,
        "text": text,
        "home": get_panel_prefix(shop) if shop else "/admin/",
        "request_id": getattr(request, "request_id", ""),
    }
    return render(request, "errors/error.html", common | context, status=status)


def _get_missing_permissions(request: HttpRequest, exception: Exception) -> tuple[str, ...]:
    """Return the Django permissions for the page. The user needs only one of these permissions."""
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


def _record_refused_attempt(request: HttpRequest) -> None:
    assert isinstance(request.user, User)
    membership = Membership.rows().filter(user=request.user).select_related("user").first()
    if membership is None:
        return
    message = REFUSED(method=request.method or "", path=request.path[:450])
    with transaction.atomic():
        record_event(
            "staff/refused", membership, actor=get_staff_actor(request.user), at=timezone.now(), message=message
        )
