"""Product images and customer details on the order page."""

from collections.abc import Iterable, Sequence

from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from apps.catalog.admin.thumbnails import thumbnail
from apps.catalog.models import ProductImage
from apps.ground import languages
from apps.ground.tenancy import get_current_shop
from apps.orders.domain import totals_display
from apps.orders.models import LineItem, Order
from apps.panel.permissions import has_permission
from apps.panel.staff_request import Context

# The maximum number of the customer's other orders to show, latest first.
_LATEST = 5


def get_thumbnails(lines: Iterable[LineItem]) -> dict[int, SafeString]:
    """Return a thumbnail per line id: the variant's image, the product's main image or an empty square."""
    line_items = list(lines)
    image_ids = {line.variant.image_id for line in line_items if line.variant and line.variant.image_id}
    products = {line.product_id for line in line_items if line.product_id}
    product_images: dict[int, ProductImage] = {}
    for row in ProductImage.objects.filter(product_id__in=products, position=1).order_by("pk"):
        product_images.setdefault(row.product_id, row)
    variant_images = ProductImage.objects.in_bulk(image_ids) if image_ids else {}
    thumbnails = {}
    for line in line_items:
        image = variant_images.get((line.variant and line.variant.image_id) or 0) or product_images.get(
            line.product_id or 0
        )
        thumbnails[line.pk] = thumbnail(line.shop_id, image.key if image else "", image.name if image else "")
    return thumbnails


def get_product_links(request: HttpRequest, lines: Sequence[LineItem]) -> dict[int, str]:
    """Return the product page URL for each line id, or an empty dict if the user may not view products."""
    if not has_permission(request, "catalog.view_product"):
        return {}
    return {
        line.pk: reverse("admin:catalog_product_change", args=[line.product_id]) for line in lines if line.product_id
    }


def get_customer_summary(request: HttpRequest, order: Order) -> Context | None:
    """Return the customer's totals and latest other orders, or None if there is no customer or no permission."""
    customer = order.customer
    if customer is None or not has_permission(request, "customers.view_customer"):
        return None
    other_orders = Order.objects.filter(customer_id=customer.pk).exclude(pk=order.pk).order_by("-processed_at", "-pk")
    currency = get_current_shop().currency
    return {
        "count": customer.orders_count,
        "spent": languages.format_money(customer.total_spent, currency),
        "others": [
            {"row": row, "total": ", ".join(totals_display.format_total(row))} for row in other_orders[:_LATEST]
        ],
    }
