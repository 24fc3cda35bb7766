"""The public order status page. Its URL contains a secret token of 128 random bits."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.content.models import ScriptTag
from apps.ground.tenancy import shop_scope
from apps.orders.domain.order_status import get_status_page_context
from apps.orders.models import Order
from apps.orders.public.status_page_sections import get_status_page_sections
from apps.shops.models import Shop

# The shop's script tags run on this page. They come from apps, so the page is sandboxed in its own origin, where
# scripts can reach neither the panel nor a session.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline' https:; img-src data: https:; font-src https:; connect-src https:; "
    f"script-src 'self' {settings.BASE_URL} https:; base-uri 'none'; form-action https:; frame-ancestors 'none'; "
    "sandbox allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    # The URL is a secret and must not be sent to other sites or search engines.
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
}


@never_cache
@require_safe
def order_status(request: HttpRequest, shop_id: int, token: str) -> HttpResponse:
    """Show the status of an order. All invalid links show the same 404 page."""
    shop = Shop.objects.filter(pk=shop_id).first() if shop_id < 2**63 else None
    if shop is None or not token.isalnum():
        return _page(request, status=404)
    with shop_scope(shop), timezone.override(shop.tzinfo):
        order = Order.objects.filter(token=token).first()
        if order is None:
            return _page(request, status=404)
        loader = f"{reverse('script-loader', args=[shop.domain])}?scope={ScriptTag.DisplayScope.ORDER_STATUS}"
        return _page(
            request,
            shop=shop,
            loader=loader,
            chapters=get_status_page_sections(order),
            **get_status_page_context(order),
        )


def _page(request: HttpRequest, *, status: int = 200, **context: object) -> HttpResponse:
    response = render(request, "orders/status.html", context, status=status)
    for name, value in HEADERS.items():
        response.headers[name] = value
    return response
