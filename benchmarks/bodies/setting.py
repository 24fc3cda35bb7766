"""What stands in the shop before anything is measured, and what bodies are made of."""

import base64
import io
import random
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django.test import Client

    from apps.shops.models import Shop

SOLD, COLLECTS, TAGS, METAFIELDS = 500, 2500, 250, 250
Body = dict[str, Any]


@dataclass(frozen=True)
class Goods:
    """What bodies refer to.

    Attributes:
        shop: Whose.
        products: As many as a collection takes by one body; the first ``SOLD`` with a counted variant.
        variants: Those variants.
        item: The inventory item of the first.
        location: Where stock lies, and one that stocks nothing yet.
    """

    shop: "Shop"
    products: list[int]
    variants: list[int]
    item: int
    location: tuple[int, int]


def stock_shop(shop: "Shop") -> Goods:
    """Fill a new shop."""
    from django.utils import timezone

    from apps.catalog.domain.inputs import ProductParts, VariantInput
    from apps.catalog.domain.products import create_product
    from apps.catalog.models import Product, Variant
    from apps.ground.tenancy import shop_scope
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
        return Goods(
            shop=shop,
            products=list(Product.objects.order_by("id").values_list("pk", flat=True)),
            variants=[pk for pk, _ in variants],
            item=variants[0][1],
            location=(get_primary_location().pk, other.pk),
        )


def client_of(shop: "Shop", name: str) -> "Client":
    """An app of that name that may do everything in a shop."""
    from django.test import Client
    from django.utils import timezone

    from apps.shops.domain import app_installation, tokens
    from apps.shops.models.scopes import SCOPES

    now = timezone.now()
    installation = app_installation.install_app(
        app_installation.create_app(name=name), shop, scopes=sorted(SCOPES), actor="system", at=now
    )
    return Client(headers={"X-Platform-Access-Token": tokens.issue_token(installation, actor="system", at=now)})


def made_together(goods: Goods, parts: int, lines: int) -> list[tuple[int, list[int]]]:
    """Fulfillment orders of one order at one location, each with its lines; there are so many lines in all."""
    from django.utils import timezone

    from apps.fulfillment.domain import location_moves, routing
    from apps.ground.tenancy import shop_scope
    from apps.inventory.domain.locations import create_location
    from apps.orders.domain.create import create_order
    from apps.orders.domain.order_drafts import OrderParts

    at = timezone.now()
    with shop_scope(goods.shop):
        line = {"title": "Line", "price": Decimal(4), "quantity": 1}
        order = create_order({}, OrderParts(lines=[line] * lines), actor="system", at=at)
        [row] = routing.route_order(order.pk, at=at)
        other = create_location(name="Many", country="Sweden", actor="system", at=at)
        pks = list(row.lines.order_by("pk").values_list("pk", flat=True))
        size = lines // parts
        found = []
        for first in range(0, lines, size):
            named = [{"id": pk, "quantity": 1} for pk in pks[first : first + size]]
            moved = location_moves.move_to_location(row, other.pk, lines=named, actor="system", at=at).moved
            found.append((moved.pk, list(moved.lines.order_by("pk").values_list("pk", flat=True))))
        return found


def tags() -> str:
    """As many tags as a row takes."""
    return ", ".join(f"tag {number}" for number in range(TAGS))


def fields(value: Any = "text", kind: str = "single_line_text_field", count: int = METAFIELDS) -> list[Body]:
    """As many metafields as a body may bring."""
    return [{"namespace": "bench", "key": f"key{n}", "type": kind, "value": value} for n in range(count)]


def markup() -> str:
    """Markup at both its limits: half a megabyte, and as many tags as are taken."""
    return "<p>" + f"<b>{'word ' * 10}</b>\n" * 4_990 + "word " * 40_000 + "</p>"


@cache
def picture(width: int, height: int, kind: str = "JPEG", *, flat: bool = False) -> str:
    """A picture in Base64: one that does not compress, lying on its side as cameras leave it, or an empty one."""
    from PIL import Image

    exif = Image.Exif()
    if flat:
        made = Image.new("RGB", (width, height))
    else:
        made = Image.frombytes("RGB", (width, height), random.Random(1).randbytes(3 * width * height))
        exif[0x0112] = 6
    file = io.BytesIO()
    made.save(file, kind, exif=exif)
    return base64.b64encode(file.getvalue()).decode()
