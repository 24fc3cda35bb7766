"""Load the demo catalog through the catalog's services. The data is the same each time."""

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random

from django.utils.html import format_html

from apps.catalog.domain import image_files, images, products
from apps.catalog.domain.collections import lifecycle
from apps.catalog.domain.collections.collects import Placement
from apps.catalog.domain.inputs import ImageInput, OptionInput, ProductParts, VariantInput
from apps.catalog.models import Collection, CustomCollection, Product, Variant
from apps.core.tenancy.models import Shop
from apps.demo.data.product_images import COLORS, draw_banner, draw_product
from apps.demo.data.product_list import CUSTOM, DEMO_PRODUCTS, FRONTPAGE, KINDS, SMART, DemoProduct, DemoProductType
from apps.inventory.domain import movements
from apps.inventory.domain.movements import StockChange
from apps.inventory.models import Location, StockMovement
from apps.metafields.domain.write import MetafieldInput

ACTOR = "system"
_AGE = timedelta(days=210)
# The additional price of larger variants.
_SURCHARGE = 6
# The weight of the packaging in grams.
_PACKAGING = 120
_SOLD_OUT_EVERY = 23
# Image colors for candles and paper products, which have no color option.
_NEUTRAL = ("Chalk", "Moss", "Rust", "Ink")


def load_demo_catalog(shop: Shop, at: datetime) -> None:
    random = Random("catalog")  # noqa: S311 - a demo is no secret
    products_by_title: dict[str, Product] = {}
    for index, good in enumerate(DEMO_PRODUCTS):
        # Spread the creation times over several months, up to yesterday.
        since = at - _AGE + (_AGE - timedelta(days=1)) * index / len(DEMO_PRODUCTS)
        products_by_title[good.title] = _create_product(shop, good, number=index + 1, at=since)
    _create_stock(random, at)
    for title, text, titles in CUSTOM:
        _create_custom_collection(shop, title, text, [products_by_title[name] for name in titles], at)
    for title, order, disjunctive, rules in SMART:
        _create_smart_collection(shop, title, order, rules, disjunctive=disjunctive, at=at)
    parts = lifecycle.CollectionParts(placements=[Placement(products_by_title[name].pk) for name in FRONTPAGE])
    frontpage = CustomCollection.objects.get(handle="frontpage")
    lifecycle.update_collection(frontpage, {"sort_order": "manual"}, parts, actor=ACTOR, at=at)


def _create_product(shop: Shop, good: DemoProduct, *, number: int, at: datetime) -> Product:
    kind = KINDS[good.type]
    options = [kind.first, kind.second] if kind.second else [kind.first]
    attrs = {
        "title": good.title,
        "body_html": format_html("<p>{}</p><p>{}</p>", good.text, kind.text),
        "vendor": good.vendor,
        "product_type": good.type,
        "tags": ", ".join(sorted({*good.tags.split(", "), *kind.tags.split(", ")}, key=str.casefold)),
        "status": good.status,
        "published_at": at if good.status == "active" else None,
    }
    parts = ProductParts(
        metafields=[MetafieldInput("details", "care", "single_line_text_field", kind.text, "How it is kept")],
        options=[OptionInput(name, list(values)) for name, values in options],
        variants=[
            _build_variant(good, kind, values, code=f"{number:03d}-{position:02d}")
            for position, values in enumerate(itertools.product(*(values for _, values in options)), start=1)
        ],
    )
    product = products.create_product(attrs, parts, actor=ACTOR, at=at)
    _create_images(shop, product, kind, number, at)
    return product


def _build_variant(good: DemoProduct, kind: DemoProductType, values: Sequence[str], *, code: str) -> VariantInput:
    extra = _SURCHARGE if values[-1] in {"Large", "40 hours"} else 0
    return VariantInput(
        attrs={
            **{f"option{number}": value for number, value in enumerate(values, start=1)},
            "price": good.price + extra,
            "compare_at_price": None if good.compare_at_price is None else good.compare_at_price + extra,
            "barcode": f"40123450{code.replace('-', '')}",
            "grams": kind.grams,
        },
        metafields=[MetafieldInput("details", "packed_grams", "number_integer", str(kind.grams + _PACKAGING))],
        item={"sku": f"{good.type[:2].upper()}-{code}", "tracked": True, "cost": good.price / 2},
    )


def _create_images(shop: Shop, product: Product, kind: DemoProductType, number: int, at: datetime) -> None:
    """Create one image per color and assign it to the variants in that color, or two images if there is no color."""
    colored = kind.first[1][0] in COLORS
    names = kind.first[1] if colored else (_NEUTRAL[number % 4], _NEUTRAL[(number + 1) % 4])
    for name in names:
        data = draw_product(kind.shape, COLORS[name], f"{product.handle}/{name}")
        variant_ids = Variant.objects.filter(product=product, option1=name).values_list("pk", flat=True)
        image = ImageInput(
            image=image_files.store_uploaded_image(shop.pk, data, f"{product.handle}-{name.lower()}.jpg"),
            attrs={"alt": f"{product.title}, {name.lower()}" if colored else product.title},
            variant_ids=list(variant_ids) if colored else [],
            metafields=[MetafieldInput("picture", "light", "single_line_text_field", "Daylight from the left")],
        )
        images.add_image(product.pk, image, actor=ACTOR, at=at)


def _create_stock(random: Random, at: datetime) -> None:
    """Stock the variants at all locations, mostly at the first location. Some variants are low in stock or sold out."""
    locations = list(Location.objects.filter(active=True, legacy=False).order_by("priority", "id"))
    moves = []
    for number, item_id in enumerate(Variant.objects.order_by("id").values_list("inventory_item_id", flat=True), 1):
        scarce = number % 7 == 0
        for rank, location in enumerate(locations):
            count = random.randint(0, 2) if scarce else random.randint(4, 40) // (rank + 1)
            if number % _SOLD_OUT_EVERY == 0:
                continue
            moves.append(StockChange(item_id, location.pk, count, connect=True))
    movements.apply_stock_changes(moves, reason=StockMovement.Reason.RECEIVED, actor=ACTOR, at=at)


def _create_custom_collection(shop: Shop, title: str, text: str, members: Sequence[Product], at: datetime) -> None:
    image = image_files.store_uploaded_image(shop.pk, draw_banner(list(COLORS.values()), title), f"{title}.jpg")
    parts = lifecycle.CollectionParts(image=image, placements=[Placement(product.pk) for product in members])
    parts.metafields = [MetafieldInput("page", "columns", "number_integer", "4")]
    attrs = {"title": title, "body_html": format_html("<p>{}</p>", text), "sort_order": "manual", "image_alt": title}
    lifecycle.create_collection(Collection.Kind.CUSTOM, attrs, parts, actor=ACTOR, at=at)


def _create_smart_collection(
    shop: Shop, title: str, order: str, rules: Sequence[tuple[str, str, str]], *, disjunctive: bool, at: datetime
) -> None:
    image = image_files.store_uploaded_image(shop.pk, draw_banner(list(COLORS.values()), title), f"{title}.jpg")
    rule_data = [dict(zip(("column", "relation", "condition"), rule, strict=True)) for rule in rules]
    attrs = {"title": title, "sort_order": order, "disjunctive": disjunctive, "rules": rule_data, "image_alt": title}
    parts = lifecycle.CollectionParts(image=image)
    lifecycle.create_collection(Collection.Kind.SMART, attrs, parts, actor=ACTOR, at=at)
