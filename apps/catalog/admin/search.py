"""Search products by columns other than title and handle. Every query uses an index."""

from collections.abc import Iterator

from django.db import connection
from django.db.models import QuerySet, Value
from django.db.models.functions import Left, Upper

from apps.catalog.models import Product, ProductTag, Variant
from apps.core.db.case_folding import casefold_text
from apps.core.db.lookups import MIN_TRIGRAM_LENGTH, in_materialized
from apps.core.search_query.similarity import (
    MAX_CANDIDATES,
    Misspelled,
    contains_half,
    select_similar,
    similarity_threshold,
)
from apps.core.tenancy.scope import get_current_shop
from apps.metafields.models import Metafield
from apps.metafields.models.metafields import INDEXED_LENGTH


def search_products(products: QuerySet[Product], term: str, most: int) -> Iterator[QuerySet[Product]]:
    """Yield querysets of the products with a matching vendor, tag, barcode, SKU or metafield value.

    A vendor or SKU matches if it begins with the term. Any other value must equal the term. A vendor must also equal
    the term if the term has fewer than three characters. A query reads at most ``most`` tags, variants or metafields.
    """
    yield products.filter(**{f"vendor_key__{'startswith' if len(term) >= MIN_TRIGRAM_LENGTH else 'exact'}": term})
    tags = ProductTag.rows().filter(key=casefold_text(term)).order_by("-product_id")
    yield products.filter(in_materialized(tags.values("product_id")[:most]))
    for variants in (
        Variant.rows().filter(barcode=term),
        Variant.rows().filter(inventory_item__shop=get_current_shop(), inventory_item__sku__istartswith=term),
    ):
        yield products.filter(in_materialized(variants.order_by().values("product_id")[:most]))
    valued = (
        Metafield.rows()
        .alias(beginning=Upper(Left("value", INDEXED_LENGTH)))
        .filter(owner_resource="product", beginning=Upper(Value(term[:INDEXED_LENGTH])), value__iexact=term)
    )
    yield products.filter(in_materialized(valued.order_by().values("owner_id")[:most]))


def suggest_titles(text: str) -> list[str]:
    """Return up to three search texts with words of product titles that are similar to the words of a search text."""
    misspelled = Misspelled(text)
    word = casefold_text(misspelled.longest_word)
    return misspelled.suggest(_find_similar_titles(word)) if word else []


def _find_similar_titles(word: str) -> list[str]:
    """Return titles with a similar word. SQLite scans the index of the shop's titles, as it does for each search."""
    if connection.vendor != "postgresql":
        products = Product.rows().filter(contains_half("title_key", word)).order_by()
        return list(products.values_list("title", flat=True)[:MAX_CANDIDATES])
    with similarity_threshold(word):
        return list(select_similar(Product.rows(), "title_key", word).values_list("title", flat=True))
