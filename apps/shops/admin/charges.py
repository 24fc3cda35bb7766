"""The pages on which staff approve or decline the charges of an app, and the list of recurring charges."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _

from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.model_admin.extra_views import ExtraViewsAdmin
from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.core.tenancy.models import Installation
from apps.shops.admin.purchases import TONES
from apps.shops.domain import charges, purchases
from apps.shops.domain.return_urls import decorate_url
from apps.shops.models import AppPurchase, RecurringCharge

Charge = AppPurchase | RecurringCharge


@dataclass(frozen=True, slots=True)
class ChargeLine:
    row: RecurringCharge
    price: str
    cap: str
    tone: str
    is_waiting: bool


def get_charge_lines(installation: Installation) -> list[ChargeLine]:
    rows = RecurringCharge.rows().filter(installation=installation).order_by("-pk")[:50]
    return [
        ChargeLine(
            row,
            formats.format_money(row.price, row.currency),
            "" if row.capped_amount is None else formats.format_money(row.capped_amount, row.currency),
            TONES.get(row.status, ""),
            is_waiting(row),
        )
        for row in rows
    ]


def is_waiting(charge: Charge) -> bool:
    """Return True if staff must decide about the charge or about its capped amount."""
    if charge.status == "pending":
        return True
    return (
        isinstance(charge, RecurringCharge) and charge.status == "active" and charge.requested_capped_amount is not None
    )


def show_charge(
    model_admin: ExtraViewsAdmin[Any], request: HttpRequest, installation: Installation, charge: Charge
) -> HttpResponse:
    """Show a charge for approval. After the decision, redirect to the app, or to its page in the panel."""
    app_page = model_admin.url("change", installation.pk)
    if request.method == "POST":
        is_decided = _decide(model_admin, request, charge)
        target = decorate_url(charge.return_url, charge.pk) if "leave" in request.POST else ""
        return HttpResponseRedirect(target if is_decided and target else app_page)
    recurring = charge if isinstance(charge, RecurringCharge) else None
    requested = recurring.requested_capped_amount if recurring else None
    cap = recurring.capped_amount if recurring and requested is None else requested
    response = model_admin.page(
        request,
        "panel/apps/charge.html",
        _("Charge from {name}").format(name=installation.app.name),
        original=installation,
        charge=charge,
        recurring=recurring,
        price=formats.format_money(charge.price, charge.currency),
        cap="" if cap is None else formats.format_money(cap, charge.currency),
        raises_cap=requested is not None,
        requested="" if requested is None else str(requested),
        is_waiting=is_waiting(charge),
        leads_to=urlsplit(charge.return_url).netloc,
    )
    site = urlsplit(charge.return_url)
    if site.netloc:
        # The default CSP forbids a form that redirects to another site, so allow the app's site on this page only.
        response._csp_update = {"form-action": [f"{site.scheme}://{site.netloc}"]}  # type: ignore[attr-defined]
    add_never_cache_headers(response)
    return response


def _decide(model_admin: ExtraViewsAdmin[Any], request: HttpRequest, charge: Charge) -> bool:
    decision = request.POST.get("decision")
    if decision not in {"approve", "decline"}:
        model_admin.message_user(request, _("Choose Approve or Decline."), messages.ERROR)
        return False
    approve, by = decision == "approve", model_admin.event_kwargs(request)
    try:
        if isinstance(charge, AppPurchase):
            purchases.decide_purchase(charge, approve=approve, **by)
        elif charge.status == RecurringCharge.Status.ACTIVE:
            requested = request.POST.get("requested", "")
            charges.decide_capped_amount(charge, approve=approve, requested=requested, **by)
        else:
            charges.decide_charge(charge, approve=approve, **by)
    except DomainError as error:
        model_admin.message_user(request, format_errors(error), messages.ERROR)
        return False
    text = _("{name} approved.") if approve else _("{name} declined.")
    model_admin.message_user(request, text.format(name=charge.name), messages.SUCCESS)
    return True
