"""``GET /admin/oauth/authorize``: apps redirect staff to this URL to request access.

The view redirects to the approval page in the panel.
"""

from typing import cast
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext as _

from apps.core.admin.decorators import staff_required
from apps.core.admin.reverse import get_panel_url
from apps.core.tenancy.models import Shop, User
from apps.core.tenancy.staff_access import get_accessible_shops

PAGE = "admin:shops_installation_authorize"
_MOST_SHOPS = 200


@staff_required
def redirect_to_approval(request: HttpRequest) -> HttpResponse:
    """Redirect to the shop in the query or to the user's only shop. Otherwise, list the user's shops."""
    if request.method not in {"GET", "HEAD"}:
        return HttpResponseNotAllowed(["GET"])
    shops = get_accessible_shops(cast("User", request.user))
    domain = request.GET.get("shop", "").strip().lower()
    if domain:
        shop = shops.filter(domain=domain).first() if "\0" not in domain else None
        if shop is None:
            raise Http404(_("You don't have access to a shop with this domain."))
        return HttpResponseRedirect(_build_page_url(shop, request))
    matching_shops = list(shops[:_MOST_SHOPS])
    if len(matching_shops) == 1:
        return HttpResponseRedirect(_build_page_url(matching_shops[0], request))
    choices = [(shop, _build_page_url(shop, request)) for shop in matching_shops]
    return render(request, "global/authorize.html", {"choices": choices})


def _build_page_url(shop: Shop, request: HttpRequest) -> str:
    query = request.GET.copy()
    query.pop("shop", None)
    return f"{get_panel_url(shop, PAGE)}?{query.urlencode()}"


def build_authorization_url(url: str, domain: str) -> str:
    separator = "&" if "?" in url else "?"
    return f"{url}{separator}{urlencode({'shop': domain})}"
