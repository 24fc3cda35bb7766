"""The shop's initial data, and parts of request bodies."""

import base64
import io
import random
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from benchmarks.scale import scale

if TYPE_CHECKING:
    from django.test import Client

    from apps.core.tenancy.models import Shop

SOLD, COLLECTS, TAGS, METAFIELDS = map(scale, (500, 2500, 250, 250))
Body = dict[str, Any]


@dataclass(frozen=True)
class BenchRows:
    """The rows that request bodies refer to.

    Attributes:
        shop: The shop that owns the rows.
        products: The maximum number of products that one body can add to a collection. The first ``SOLD`` products
            have a tracked variant.
        variants: The tracked variants.
        item: The inventory item of the first variant.
        location: The ids of the primary location and of a location without stock.
    """

    shop: "Shop"
    products: list[int]
    variants: list[int]
    item: int
    location: tuple[int, int]


def stock_shop(shop: "Shop") -> BenchRows:
    """Create products and a second location in a new shop."""
    from django.utils import timezone

    from apps.catalog.domain.inputs import ProductParts, VariantInput
    from apps.catalog.domain.products import create_product
    from apps.catalog.models import Product, Variant
    from apps.core.tenancy.scope import shop_scope
    from apps.inventory.domain.locations import create_location
    from apps.inventory.domain.stock import get_primary_location

    at = timezone.now()
    with shop_scope(shop):
        for number in range(SOLD):
            variant = VariantInput(attrs={"price": 4, "inventory_policy": "continue"}, item={"tracked": True})
            create_product({"title": f"Sold {number}"}, ProductParts(variants=[variant]), actor="system", at=at)
        Product.objects.bulk_create(
            Product(shop=shop, title=f"Bare {number}", handle=f"bare-{number}") for number in range(COLLECTS - SOLD)
        )
        variants = list(Variant.objects.order_by("id").values_list("pk", "inventory_item_id"))
        other = create_location(name="Other", country="Sweden", actor="system", at=at)
        return BenchRows(
            shop=shop,
            products=list(Product.objects.order_by("id").values_list("pk", flat=True)),
            variants=[pk for pk, _ in variants],
            item=variants[0][1],
            location=(get_primary_location().pk, other.pk),
        )


def create_client(shop: "Shop", name: str) -> "Client":
    """Create an app with every scope and return a client."""
    from django.test import Client
    from django.utils import timezone

    from apps.core.tenancy.access_scopes import SCOPES
    from apps.shops.domain import app_installation, tokens

    now = timezone.now()
    installation = app_installation.install_app(
        app_installation.create_app(name=name), shop, scopes=sorted(SCOPES), actor="system", at=now
    )
    return Client(headers={"X-Platform-Access-Token": tokens.issue_token(installation, actor="system", at=now)})


def create_fulfillment_orders(goods: BenchRows, parts: int, lines: int) -> list[tuple[int, list[int]]]:
    """Split an order into fulfillment orders at one location; return their ids with the ids of their line items."""
    from django.utils import timezone

    from apps.core.tenancy.scope import shop_scope
    from apps.fulfillment.domain.fulfillment_orders import moves, routing
    from apps.inventory.domain.locations import create_location
    from apps.orders.domain.create.drafts import OrderParts
    from apps.orders.domain.create.orders import create_order

    at = timezone.now()
    with shop_scope(goods.shop):
        line = {"title": "Line", "price": Decimal(4), "quantity": 1}
        order = create_order({}, OrderParts(lines=[line] * lines), actor="system", at=at)
        [row] = routing.route_order(order.pk, at=at)
        other = create_location(name="Many", country="Sweden", actor="system", at=at)
        pks = list(row.lines.order_by("pk").values_list("pk", flat=True))
        size = lines // parts
        results = []
        for first in range(0, lines, size):
            line_items = [{"id": pk, "quantity": 1} for pk in pks[first : first + size]]
            _, moved, _ = moves.move_to_location(row, other.pk, lines=line_items, actor="system", at=at)
            results.append((moved.pk, list(moved.lines.order_by("pk").values_list("pk", flat=True))))
        return results


def build_tags() -> str:
    """Return the maximum number of tags."""
    return ", ".join(f"tag {number}" for number in range(TAGS))


def build_metafields(value: Any = "text", kind: str = "single_line_text_field", count: int = METAFIELDS) -> list[Body]:
    """Return metafields, by default as many as a body may contain."""
    return [{"namespace": "bench", "key": f"key{n}", "type": kind, "value": value} for n in range(count)]


def build_markup() -> str:
    """Return HTML with the maximum size, half a megabyte, and the maximum number of tags."""
    return "<p>" + f"<b>{'word ' * 10}</b>\n" * 4_990 + "word " * 40_000 + "</p>"


@cache
def build_image(width: int, height: int, kind: str = "JPEG", *, flat: bool = False) -> str:
    """Return a Base64-encoded image: random pixels with an EXIF rotation, or a single color if ``flat``."""
    from PIL import Image

    width, height = scale(width), scale(height)
    exif = Image.Exif()
    if flat:
        image = Image.new("RGB", (width, height))
    else:
        image = Image.frombytes("RGB", (width, height), random.Random(1).randbytes(3 * width * height))
        exif[0x0112] = 6
    file = io.BytesIO()
    image.save(file, kind, exif=exif)
    return base64.b64encode(file.getvalue()).decode()
