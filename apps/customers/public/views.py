"""The page on which a customer activates the account: public, opened with a signed link that works once."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from apps.customers.domain import accounts
from apps.customers.domain.accounts import LinkDead, PasswordRefused
from apps.customers.models import Customer
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop

MESSAGES = {
    "password": gettext_noop("The password {fault}."),
    "password_confirmation": gettext_noop("The two passwords differ."),
}


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def activate(request: HttpRequest, shop: str, customer: int, token: str) -> HttpResponse:
    """Show the form, activate the account, or turn the invitation down; a dead link is 410 in all its forms."""
    at = timezone.now()
    found = Shop.objects.filter(handle=shop).first() or Shop(pk=0)
    with shop_scope(found):
        try:
            return _answer(request, found, accounts.customer_of_link(customer_id=customer, token=token, at=at))
        except LinkDead as dead:
            return _page(request, "dead", status=dead.status)


def _answer(request: HttpRequest, shop: Shop, customer: Customer) -> HttpResponse:
    at = timezone.now()
    if request.method != "POST":
        return _page(request, "form", shop=shop, customer=customer)
    if "decline" in request.POST and customer.state == Customer.State.INVITED:
        accounts.decline(customer, at=at)
        return _page(request, "declined", shop=shop)
    password = request.POST.get("password", "")
    try:
        accounts.activate(
            customer, password=password, confirmation=request.POST.get("password_confirmation", ""), at=at
        )
    except PasswordRefused as refused:
        errors = [_(MESSAGES[field]).format(fault=messages[0]) for field, messages in refused.errors.items()]
        return _page(request, "form", status=422, shop=shop, customer=customer, errors=errors)
    return _page(request, "done", shop=shop, customer=customer)


def _page(request: HttpRequest, step: str, *, status: int = 200, **context: object) -> HttpResponse:
    response = render(request, "customers/activate.html", {"step": step, **context}, status=status)
    # The address holds the token: it must not travel on to other sites.
    response["Referrer-Policy"] = "no-referrer"
    return response
