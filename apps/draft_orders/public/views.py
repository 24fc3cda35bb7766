"""The public invoice page of a draft order. Its URL contains a signed secret key of 128 random bits."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache

from apps.core.public_pages import accept_only_reads
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.draft_orders.domain.invoice_links import read_invoice_key
from apps.draft_orders.domain.invoices import get_invoice_context
from apps.draft_orders.models import DraftOrder

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    # The URL is a secret and must not be sent to other sites or search engines.
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
}


@never_cache
@accept_only_reads
def invoice_page(request: HttpRequest, shop_id: int, token: str) -> HttpResponse:
    """Show the invoice of a draft order. All invalid links show the same 404 page."""
    shop = Shop.objects.filter(pk=shop_id).first() if shop_id < 2**63 else None
    key = read_invoice_key(token)
    if shop is None or key is None:
        return _page(request, status=404)
    with shop_scope(shop), timezone.override(shop.tzinfo):
        draft = DraftOrder.objects.select_related("order", "customer").filter(invoice_key=key).first()
        if draft is None:
            return _page(request, status=404)
        return _page(request, shop=shop, **get_invoice_context(draft))


def _page(request: HttpRequest, *, status: int = 200, **context: object) -> HttpResponse:
    response = render(request, "draft_orders/invoice.html", context, status=status)
    for name, value in HEADERS.items():
        response.headers[name] = value
    return response
