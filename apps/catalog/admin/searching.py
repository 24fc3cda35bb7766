"""What staff find products by besides their title and handle; each by an index of its own, never without a bound."""

from collections.abc import Iterator

from django.db.models import QuerySet, Value
from django.db.models.functions import Left, Upper

from apps.catalog.models import Product, ProductTag, Variant
from apps.ground.folding import folded
from apps.ground.lookups import SHORTEST_PART, among
from apps.ground.tenancy import current_shop
from apps.metafields.models import Metafield
from apps.metafields.models.metafields import INDEXED


def parts_of(products: QuerySet[Product], term: str, most: int) -> Iterator[QuerySet[Product]]:
    """The products whose tag or metafield is a text, with a variant of that barcode, or whose vendor or SKU begins so.

    Of fewer than three letters only a whole vendor is meant.

    Args:
        products: Those that may be found.
        term: The text.
        most: How many rows of another table are followed to their products.
    """
    yield products.filter(**{f"vendor_key__{'startswith' if len(term) >= SHORTEST_PART else 'exact'}": term})
    tags = ProductTag.rows().filter(key=folded(term)).order_by("-product_id")
    yield products.filter(among(tags.values("product_id")[:most]))
    for variants in (
        Variant.rows().filter(barcode=term),
        Variant.rows().filter(inventory_item__shop=current_shop(), inventory_item__sku__istartswith=term),
    ):
        yield products.filter(among(variants.order_by().values("product_id")[:most]))
    valued = (
        Metafield.rows()
        .alias(beginning=Upper(Left("value", INDEXED)))
        .filter(owner_resource="product", beginning=Upper(Value(term[:INDEXED])), value__iexact=term)
    )
    yield products.filter(among(valued.order_by().values("owner_id")[:most]))
