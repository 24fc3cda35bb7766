"""What stands beside an order's lines: pictures of what was bought, and who bought it, with their other orders."""

from collections.abc import Iterable, Sequence

from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from apps.catalog.admin.thumbnails import thumbnail
from apps.catalog.models import ProductImage
from apps.ground import languages
from apps.ground.tenancy import current_shop
from apps.orders.domain import bill
from apps.orders.models import LineItem, Order
from apps.panel.access import may
from apps.panel.requests import Context

# So many other orders of the customer are named, the latest.
_LATEST = 5


def pictures(lines: Iterable[LineItem]) -> dict[int, SafeString]:
    """By line a small picture: of the variant, else the main one of the product; an empty square for none."""
    known = list(lines)
    chosen = {line.variant.image_id for line in known if line.variant and line.variant.image_id}
    products = {line.product_id for line in known if line.product_id}
    main: dict[int, ProductImage] = {}
    for row in ProductImage.objects.filter(product_id__in=products, position=1).order_by("pk"):
        main.setdefault(row.product_id, row)
    own = ProductImage.objects.in_bulk(chosen) if chosen else {}
    found = {}
    for line in known:
        image = own.get((line.variant and line.variant.image_id) or 0) or main.get(line.product_id or 0)
        found[line.pk] = thumbnail(line.shop_id, image.key if image else "", image.name if image else "")
    return found


def linked(request: HttpRequest, lines: Sequence[LineItem]) -> dict[int, str]:
    """By line the page of its product, for those who may see products."""
    if not may(request, "catalog.view_product"):
        return {}
    return {
        line.pk: reverse("admin:catalog_product_change", args=[line.product_id]) for line in lines if line.product_id
    }


def buyer(request: HttpRequest, order: Order) -> Context | None:
    """The customer's totals and latest other orders; None where there is none, or this person may not see customers."""
    customer = order.customer
    if customer is None or not may(request, "customers.view_customer"):
        return None
    others = Order.objects.filter(customer_id=customer.pk).exclude(pk=order.pk).order_by("-processed_at", "-pk")
    currency = current_shop().currency
    return {
        "count": customer.orders_count,
        "spent": languages.money(customer.total_spent, currency),
        "others": [{"row": row, "total": ", ".join(bill.total_of(row))} for row in others[:_LATEST]],
    }
