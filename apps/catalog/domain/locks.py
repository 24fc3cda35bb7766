"""Row locks of the catalog, taken in one order by everybody: stock, then the product, then its parts.

Stock comes first because a change of stock locks its levels before it tells the catalog. Roots are locked so that rows
that refer to them may still be added: those who must not add take the same lock first.
"""

from collections.abc import Iterable

from django.db.models import Q

from apps.catalog.models import Collection, Product
from apps.ground.locks import locked
from apps.inventory.models import InventoryItem, InventoryLevel


def lock_product(product_id: int) -> Product:
    """The product as it is, held until the end of the transaction, so that its parts have one writer.

    Raises:
        Gone: It was deleted.
    """
    return locked(Product, product_id, no_key=True)


def lock_collection(collection_id: int) -> Collection:
    """The collection as it is, held until the end of the transaction.

    Raises:
        Gone: It was deleted.
    """
    return locked(Collection, collection_id, no_key=True)


def lock_stock(*, product_id: int | None = None, variant_ids: Iterable[int] = (), going: bool = False) -> None:
    """Hold the items and levels of a product, or of some variants, before the product itself is locked.

    Args:
        product_id: Of all variants of this product.
        variant_ids: Else of these variants.
        going: Whether the items will be deleted.
    """
    chosen = Q(variant__product_id=product_id) if product_id is not None else Q(variant__pk__in=list(variant_ids))
    items = InventoryItem.objects.filter(chosen).order_by("pk")
    # A movement holds its level and then refers to its item, which this lock allows and a full one would not.
    ids = list(items.select_for_update(of=("self",), no_key=True).values_list("pk", flat=True))
    levels = InventoryLevel.objects.select_for_update().filter(item_id__in=ids)
    list(levels.order_by("item_id", "location_id").values_list("pk", flat=True))
    if going:
        list(InventoryItem.objects.select_for_update().filter(pk__in=ids).order_by("pk").values_list("pk", flat=True))
