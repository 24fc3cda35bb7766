"""``GET /admin/oauth/authorize``: where apps send staff. It leads on to the page in the shop's panel that asks."""

from typing import cast
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext as _

from apps.panel.addresses import panel_url
from apps.panel.doors import staff_only
from apps.shops.models import Shop
from apps.staff.domain.access import shops_of
from apps.staff.models import User

PAGE = "admin:shops_installation_authorize"
_MOST_SHOPS = 200


@staff_only
def authorize(request: HttpRequest) -> HttpResponse:
    """On to the shop that the app names, or the person's only one; else they choose.

    Raises:
        Http404: The person works in no shop of that domain.
    """
    if request.method not in {"GET", "HEAD"}:
        return HttpResponseNotAllowed(["GET"])
    shops = shops_of(cast("User", request.user))
    domain = request.GET.get("shop", "").strip().lower()
    if domain:
        shop = shops.filter(domain=domain).first() if "\0" not in domain else None
        if shop is None:
            raise Http404(_("You work in no shop of this domain."))
        return HttpResponseRedirect(_page_of(shop, request))
    found = list(shops[:_MOST_SHOPS])
    if len(found) == 1:
        return HttpResponseRedirect(_page_of(found[0], request))
    choices = [(shop, _page_of(shop, request)) for shop in found]
    return render(request, "outside/authorize.html", {"choices": choices})


def _page_of(shop: Shop, request: HttpRequest) -> str:
    query = request.GET.copy()
    query.pop("shop", None)
    return f"{panel_url(shop, PAGE)}?{query.urlencode()}"


def with_shop(address: str, domain: str) -> str:
    """The door's address at the installation's own host, for a shop whose domain was asked."""
    joint = "&" if "?" in address else "?"
    return f"{address}{joint}{urlencode({'shop': domain})}"
