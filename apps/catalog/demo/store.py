"""Fills the demo store through the same services as everybody; the same goods, pictures and stock each time."""

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random

from django.utils.html import format_html

from apps.catalog.demo.goods import CUSTOM, FRONTPAGE, GOODS, KINDS, SMART, Good, Kind
from apps.catalog.demo.pictures import COLORS, draw_banner, draw_good
from apps.catalog.domain import images, pictures, products
from apps.catalog.domain.collections import lifecycle
from apps.catalog.domain.collections.collects import Placement
from apps.catalog.domain.inputs import ImageInput, OptionInput, Parts, VariantInput
from apps.catalog.models import Collection, CustomCollection, Product, Variant
from apps.inventory.domain import movements
from apps.inventory.domain.movements import Move
from apps.inventory.models import Location, StockMovement
from apps.metafields.domain.setting import Draft
from apps.shops.models import Shop

ACTOR = "system"
_AGE = timedelta(days=210)
# What a larger one costs more.
_SURCHARGE = 6
# What a box weighs, in grams.
_PACKAGING = 120
_SOLD_OUT_EVERY = 23
# The chalk of candles and paper, which come in no colours.
_NEUTRAL = ("Chalk", "Moss", "Rust", "Ink")


def make(shop: Shop, at: datetime) -> None:
    """Put products, pictures, stock and collections into a fresh demo shop."""
    random = Random("catalog")  # noqa: S311 - a demo is no secret
    made: dict[str, Product] = {}
    for index, good in enumerate(GOODS):
        # The catalog grew over months; the last one came yesterday.
        since = at - _AGE + (_AGE - timedelta(days=1)) * index / len(GOODS)
        made[good.title] = _make_product(shop, good, number=index + 1, at=since)
    _stock(random, at)
    for title, text, titles in CUSTOM:
        _make_custom(shop, title, text, [made[name] for name in titles], at)
    for title, order, disjunctive, rules in SMART:
        _make_smart(shop, title, order, rules, disjunctive=disjunctive, at=at)
    parts = lifecycle.CollectionParts(placements=[Placement(made[name].pk) for name in FRONTPAGE])
    frontpage = CustomCollection.objects.get(handle="frontpage")
    lifecycle.update_collection(frontpage, {"sort_order": "manual"}, parts, actor=ACTOR, at=at)


def _make_product(shop: Shop, good: Good, *, number: int, at: datetime) -> Product:
    kind = KINDS[good.type]
    named = [kind.first, kind.second] if kind.second else [kind.first]
    attrs = {
        "title": good.title,
        "body_html": format_html("<p>{}</p><p>{}</p>", good.text, kind.text),
        "vendor": good.vendor,
        "product_type": good.type,
        "tags": ", ".join(sorted({*good.tags.split(", "), *kind.tags.split(", ")}, key=str.casefold)),
        "status": good.status,
        "published_at": at if good.status == "active" else None,
    }
    parts = Parts(
        metafields=[Draft("details", "care", "single_line_text_field", kind.text, "How it is kept")],
        options=[OptionInput(name, list(values)) for name, values in named],
        variants=[
            _variant(good, kind, values, code=f"{number:03d}-{place:02d}")
            for place, values in enumerate(itertools.product(*(values for _, values in named)), start=1)
        ],
    )
    product = products.create_product(attrs, parts, actor=ACTOR, at=at)
    _draw(shop, product, kind, number, at)
    return product


def _variant(good: Good, kind: Kind, values: Sequence[str], *, code: str) -> VariantInput:
    extra = _SURCHARGE if values[-1] in {"Large", "40 hours"} else 0
    return VariantInput(
        attrs={
            **{f"option{place}": value for place, value in enumerate(values, start=1)},
            "price": good.price + extra,
            "compare_at_price": None if good.was is None else good.was + extra,
            "barcode": f"40123450{code.replace('-', '')}",
            "grams": kind.grams,
        },
        metafields=[Draft("details", "packed_grams", "number_integer", str(kind.grams + _PACKAGING))],
        item={"sku": f"{good.type[:2].upper()}-{code}", "tracked": True, "cost": good.price / 2},
    )


def _draw(shop: Shop, product: Product, kind: Kind, number: int, at: datetime) -> None:
    """One picture per colour, shown by the variants that have it; two of goods without colours."""
    colored = kind.first[1][0] in COLORS
    names = kind.first[1] if colored else (_NEUTRAL[number % 4], _NEUTRAL[(number + 1) % 4])
    for name in names:
        data = draw_good(kind.shape, COLORS[name], f"{product.handle}/{name}")
        shown = Variant.objects.filter(product=product, option1=name).values_list("pk", flat=True) if colored else ()
        wanted = ImageInput(
            picture=pictures.store(shop.pk, data, f"{product.handle}-{name.lower()}.jpg"),
            attrs={"alt": f"{product.title}, {name.lower()}" if colored else product.title},
            variant_ids=list(shown),
            metafields=[Draft("picture", "light", "single_line_text_field", "Daylight from the left")],
        )
        images.add_image(product.pk, wanted, actor=ACTOR, at=at)


def _stock(random: Random, at: datetime) -> None:
    """Goods at every location: much in the first, less in the others, and a few things sold out."""
    locations = list(Location.objects.filter(active=True, legacy=False).order_by("priority", "id"))
    moves = []
    for number, item_id in enumerate(Variant.objects.order_by("id").values_list("inventory_item_id", flat=True), 1):
        scarce = number % 7 == 0
        for place, location in enumerate(locations):
            count = random.randint(0, 2) if scarce else random.randint(4, 40) // (place + 1)
            if number % _SOLD_OUT_EVERY == 0:
                continue
            moves.append(Move(item_id, location.pk, count, connect=True))
    movements.apply(moves, reason=StockMovement.Reason.RECEIVED, actor=ACTOR, at=at)


def _make_custom(shop: Shop, title: str, text: str, members: Sequence[Product], at: datetime) -> None:
    picture = pictures.store(shop.pk, draw_banner(list(COLORS.values()), title), f"{title}.jpg")
    parts = lifecycle.CollectionParts(picture=picture, placements=[Placement(product.pk) for product in members])
    parts.metafields = [Draft("page", "columns", "number_integer", "4")]
    attrs = {"title": title, "body_html": format_html("<p>{}</p>", text), "sort_order": "manual", "image_alt": title}
    lifecycle.create_collection(Collection.Kind.CUSTOM, attrs, parts, actor=ACTOR, at=at)


def _make_smart(
    shop: Shop, title: str, order: str, rules: Sequence[tuple[str, str, str]], *, disjunctive: bool, at: datetime
) -> None:
    picture = pictures.store(shop.pk, draw_banner(list(COLORS.values()), title), f"{title}.jpg")
    named = [dict(zip(("column", "relation", "condition"), rule, strict=True)) for rule in rules]
    attrs = {
        "title": title,
        "sort_order": order,
        "disjunctive": disjunctive,
        "rules": named,
        "image_alt": title,
    }
    parts = lifecycle.CollectionParts(picture=picture)
    lifecycle.create_collection(Collection.Kind.SMART, attrs, parts, actor=ACTOR, at=at)
