import base64
from typing import Any

from django.utils import timezone

from apps.catalog.domain import image_files, images, products
from apps.catalog.domain.collections import lifecycle
from apps.catalog.domain.collections.collects import Placement
from apps.catalog.domain.inputs import ImageInput, OptionInput, ProductParts, VariantInput
from apps.catalog.models import Collection, Product, ProductImage
from tests.support.files.images import make_plain_image

PNG = make_plain_image("PNG", (40, 20))
ATTACHMENT = base64.b64encode(PNG).decode()


def make_product(title: str = "Mug", *, prices: tuple[str, ...] = (), **attrs: object) -> Product:
    """Create a product in the current shop, with one variant per price. The sizes are 1, 2, 3 …"""
    parts = ProductParts()
    if prices:
        parts.options = [OptionInput("Size")]
        parts.variants = [
            VariantInput(attrs={"option1": str(number), "price": price}) for number, price in enumerate(prices, 1)
        ]
    return products.create_product({"title": title, **attrs}, parts, actor="system", at=timezone.now())


def make_image(product: Product, **attrs: Any) -> ProductImage:
    picture = image_files.store_uploaded_image(product.shop_id, PNG, "mug.png")
    return images.add_image(product.pk, ImageInput(image=picture, attrs=attrs), actor="system", at=timezone.now())


def make_custom(title: str = "Kitchen", *members: Product, **attrs: object) -> Collection:
    parts = lifecycle.CollectionParts(placements=[Placement(product.pk) for product in members])
    return lifecycle.create_collection(
        Collection.Kind.CUSTOM, {"title": title, **attrs}, parts, actor="system", at=timezone.now()
    )


def make_smart(title: str = "Cheap", *rules: tuple[str, str, str], **attrs: object) -> Collection:
    """Create a smart collection with the given rules ``(column, relation, condition)``."""
    named_rules = [dict(zip(("column", "relation", "condition"), rule, strict=True)) for rule in rules]
    return lifecycle.create_collection(
        Collection.Kind.SMART,
        {"title": title, "rules": named_rules, **attrs},
        lifecycle.CollectionParts(),
        actor="system",
        at=timezone.now(),
    )
