"""The public order status page. Its URL contains a secret token of 128 random bits."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache

from apps.content.models import ScriptTag
from apps.core.public_pages import accept_only_reads
from apps.core.registry import Registry
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.orders.domain.statuses import get_status_page_context
from apps.orders.models import Order

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
# Sections that other apps add between the summary of the order and its items, by their template. Each function returns
# the context of a section and is called in the shop scope. An empty context hides the section.
status_page_sections = Registry[str, Callable[[Order], Attrs]]("sections of the order status page")


@never_cache
@accept_only_reads
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
        sections = [(template, get_context(order)) for template, get_context in status_page_sections.items()]
        chapters = [(template, context) for template, context in sections if context]
        return _page(request, shop=shop, loader=loader, chapters=chapters, **get_status_page_context(order))


def _page(request: HttpRequest, *, status: int = 200, **context: object) -> HttpResponse:
    response = render(request, "orders/status.html", context, status=status)
    for name, value in HEADERS.items():
        response.headers[name] = value
    return response
