"""Which shop a panel request is in, and whether its user may be there at all."""

import re
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.events.domain.context import cause
from apps.ground.errors import Gone
from apps.ground.locks import unless_busy
from apps.ground.tenancy import SHOP_IN_ENVIRON, shop_scope
from apps.panel.access import lacks_second_factor, note_visit
from apps.panel.addresses import PANEL_URLS, inside
from apps.panel.error_pages import second_factor_required
from apps.panel.requests import in_shop
from apps.shops.models import Shop
from apps.staff.domain.access import shops_of, two_factor_still_due
from apps.staff.models import User

_PANEL = re.compile(r"\A/s/(?P<handle>[-\w]+)/admin(?P<rest>/.*)\Z")
_INCOMPLETE = re.compile(r"\A/s/(?P<handle>[-\w]+)(/|/admin)?\Z")


class ShopMiddleware:
    """Serves ``/s/<handle>/admin/…`` inside the shop: its rows, its time zone, its addresses.

    The path that the panel's routes see begins behind the prefix. A shop that does not exist and a shop that the user
    has no place in are the same 404. An answer that is streamed leaves the shop before its body is made.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Enter the shop that the path names, if it names one."""
        if found := _PANEL.match(request.path_info):
            return self._enter(request, found["handle"], found["rest"])
        if found := _INCOMPLETE.match(request.path_info):
            return HttpResponseRedirect(f"/s/{found['handle']}/admin/")
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> None:
        """A row that went while a page worked with it is not found, like one that never was."""
        if isinstance(exception, Gone):
            raise Http404 from exception

    def _enter(self, request: HttpRequest, handle: str, rest: str) -> HttpResponseBase:
        if not isinstance(request.user, User):
            return redirect_to_login(request.get_full_path(), settings.LOGIN_URL)
        if lacks_second_factor(request):
            logout(request)
            return redirect_to_login(request.get_full_path(), settings.LOGIN_URL)
        shop = shops_of(request.user).filter(handle=handle).first()
        if shop is None:
            raise Http404(_("You work in no shop of this name."))
        _remember(request.user, shop)
        note_visit(request)
        request = in_shop(request)
        request.shop, request.panel_refusal = shop, None
        request.META[SHOP_IN_ENVIRON] = shop.pk
        request.urlconf, request.path_info = PANEL_URLS, rest
        request_id = getattr(request, "request_id", "")
        address = request.META.get("REMOTE_ADDR") or None
        with (
            inside(shop),
            shop_scope(shop),
            timezone.override(shop.tzinfo),
            cause(request_id=request_id, address=address),
        ):
            day = two_factor_still_due(request.user, shop)
            if day and day <= timezone.localdate():
                return second_factor_required(request, day)
            request.two_factor_due = day
            return self.get_response(request)


def _remember(user: User, shop: Shop) -> None:
    """Note where the person is, so that the next login leads here; reading a page waits for no writer."""
    if user.last_shop_id != shop.pk:
        unless_busy(lambda: User.objects.filter(pk=user.pk).update(last_shop=shop))
