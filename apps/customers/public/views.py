"""Public page where a customer activates the account with a signed link that works once."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.domain import accounts
from apps.customers.domain.accounts import ActivationLinkInvalid, PasswordRefused
from apps.customers.models import Customer

MESSAGES = {
    "password": gettext_noop("The password {fault}."),
    "password_confirmation": gettext_noop("The passwords don't match."),
}


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def activate_account(request: HttpRequest, shop: str, customer: int, token: str) -> HttpResponse:
    """Show the form, activate the account or decline the invitation. An invalid link always returns status 410."""
    at = timezone.now()
    shop_row = Shop.objects.filter(handle=shop).first() or Shop(pk=0)
    with shop_scope(shop_row):
        try:
            return _handle_request(
                request, shop_row, accounts.get_customer_by_link(customer_id=customer, token=token, at=at)
            )
        except ActivationLinkInvalid as error:
            return _render_step(request, "dead", status=error.status)


def _handle_request(request: HttpRequest, shop: Shop, customer: Customer) -> HttpResponse:
    at = timezone.now()
    if request.method != "POST":
        return _render_step(request, "form", shop=shop, customer=customer)
    if "decline" in request.POST and customer.state == Customer.State.INVITED:
        accounts.decline_invitation(customer, at=at)
        return _render_step(request, "declined", shop=shop)
    password = request.POST.get("password", "")
    try:
        accounts.activate_account(
            customer, password=password, confirmation=request.POST.get("password_confirmation", ""), at=at
        )
    except PasswordRefused as error:
        errors = [_(MESSAGES[field]).format(fault=messages[0]) for field, messages in error.errors.items()]
        return _render_step(request, "form", status=422, shop=shop, customer=customer, errors=errors)
    return _render_step(request, "done", shop=shop, customer=customer)


def _render_step(request: HttpRequest, step: str, *, status: int = 200, **context: object) -> HttpResponse:
    response = render(request, "customers/activate.html", {"step": step, **context}, status=status)
    # The URL contains the token, which must not leak to other sites.
    response["Referrer-Policy"] = "no-referrer"
    return response
