"""What the catalog shows of the stock, kept in step with it in the transaction of the movement.

Products are locked first and in the order of their ids, as in every other change of the catalog.
"""

from collections.abc import Iterable, Mapping, Sequence

from django.db.models import F, Q

from apps.catalog.models import Product, Variant
from apps.catalog.models.variants import DEFAULT_VALUE


def follow_stock(deltas: Mapping[int, int]) -> None:
    """Add to the quantities of the variants whose items moved, by item id; their products' versions move."""
    touched = _lock_products(deltas)
    for item_id in sorted(deltas):
        Variant.objects.filter(inventory_item_id=item_id).update(
            inventory_quantity=F("inventory_quantity") + deltas[item_id]
        )
    Product.objects.filter(pk__in=touched).update()


def follow_items(item_ids: Sequence[int]) -> None:
    """Move the versions of the products that show these items, e.g. their SKUs."""
    Product.objects.filter(pk__in=_lock_products(item_ids)).update()


def _lock_products(item_ids: Iterable[int]) -> list[int]:
    variants = Variant.objects.filter(inventory_item_id__in=list(item_ids))
    products = Product.objects.select_for_update(no_key=True).filter(pk__in=variants.values("product_id"))
    return list(products.order_by("pk").values_list("pk", flat=True))


def names_of_items(item_ids: Sequence[int]) -> dict[int, str]:
    """What staff call items: the product, and the variant where it has more than one form."""
    rows = Variant.objects.filter(inventory_item_id__in=list(item_ids))
    return {
        item_id: product if title == DEFAULT_VALUE else f"{product} · {title}"
        for item_id, product, title in rows.values_list("inventory_item_id", "product__title", "title")
    }


def matching_items(term: str) -> Q:
    """The items of products whose title has a word, or of variants with a barcode."""
    return Q(variant__product__title__icontains=term) | Q(variant__barcode=term)
