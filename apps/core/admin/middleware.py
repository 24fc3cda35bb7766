import re
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.core.admin.pages.error_pages import render_second_factor_required
from apps.core.admin.permissions import is_second_factor_missing, record_session_use
from apps.core.admin.reverse import PANEL_URLS, use_panel_urls
from apps.core.admin.staff_request import as_staff_request
from apps.core.db.row_locks import run_unless_locked
from apps.core.events.context import event_context
from apps.core.exceptions import RowDeleted
from apps.core.tenancy.models import Shop, User
from apps.core.tenancy.scope import SHOP_ENVIRON_KEY, shop_scope
from apps.core.tenancy.staff_access import get_accessible_shops, get_two_factor_deadline

_PANEL = re.compile(r"\A/s/(?P<handle>[-\w]+)/admin(?P<rest>/.*)\Z")
_INCOMPLETE = re.compile(r"\A/s/(?P<handle>[-\w]+)(/|/admin)?\Z")


class ShopMiddleware:
    """Middleware that serves ``/s/<handle>/admin/…`` inside the shop scope, with the shop's time zone and URLs.

    The panel's routes match the path without the prefix. The response is 404 if the shop does not exist or the user is
    not a member of the shop. The body of a streamed response is produced after the shop scope has ended.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if path_match := _PANEL.match(request.path_info):
            return self._enter(request, path_match["handle"], path_match["rest"])
        if path_match := _INCOMPLETE.match(request.path_info):
            return HttpResponseRedirect(f"/s/{path_match['handle']}/admin/")
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> None:
        if isinstance(exception, RowDeleted):
            raise Http404 from exception

    def _enter(self, request: HttpRequest, handle: str, rest: str) -> HttpResponseBase:
        if not isinstance(request.user, User):
            return redirect_to_login(request.get_full_path(), settings.LOGIN_URL)
        if is_second_factor_missing(request):
            logout(request)
            return redirect_to_login(request.get_full_path(), settings.LOGIN_URL)
        shop = get_accessible_shops(request.user).filter(handle=handle).first()
        if shop is None:
            raise Http404(_("You don't have access to a shop with this name."))
        _remember_last_shop(request.user, shop)
        record_session_use(request)
        request = as_staff_request(request)
        request.shop, request.domain_error = shop, None
        request.META[SHOP_ENVIRON_KEY] = shop.pk
        request.urlconf, request.path_info = PANEL_URLS, rest
        request_id = getattr(request, "request_id", "")
        address = request.META.get("REMOTE_ADDR") or None
        with (
            use_panel_urls(shop),
            shop_scope(shop),
            timezone.override(shop.tzinfo),
            event_context(request_id=request_id, address=address),
        ):
            day = get_two_factor_deadline(request.user, shop)
            if day and day <= timezone.localdate():
                return render_second_factor_required(request, day)
            request.two_factor_due = day
            return self.get_response(request)


def _remember_last_shop(user: User, shop: Shop) -> None:
    """Save the user's last shop for the next login, unless another transaction has locked the user's row."""
    if user.last_shop_id != shop.pk:
        run_unless_locked(lambda: User.objects.filter(pk=user.pk).update(last_shop=shop))
