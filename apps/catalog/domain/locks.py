"""Row locks of the catalog, always acquired in the same order: stock, then the product, then its parts.

Stock comes first because an inventory change locks its levels before it updates the catalog. Products and collections
are locked with ``no_key``, so that other transactions can still insert rows that refer to them. Code that inserts such
rows acquires the same lock first.
"""

from collections.abc import Iterable

from django.db.models import Q

from apps.catalog.models import Collection, Product
from apps.core.db.row_locks import get_for_update
from apps.inventory.models import InventoryItem, InventoryLevel


def lock_product(product_id: int) -> Product:
    """Return the product, locked so that no other transaction can change its parts. Raise ``RowDeleted`` if missing."""
    return get_for_update(Product, product_id, no_key=True)


def lock_collection(collection_id: int) -> Collection:
    """Return the collection, locked until the transaction ends. Raise ``RowDeleted`` if it is missing."""
    return get_for_update(Collection, collection_id, no_key=True)


def lock_stock(*, product_id: int | None = None, variant_ids: Iterable[int] = (), deleting: bool = False) -> None:
    """Lock the inventory items and levels of a product or of variants. Must be called before the product is locked.

    ``deleting`` must be True if the items may be deleted, which requires a full lock.
    """
    condition = Q(variant__product_id=product_id) if product_id is not None else Q(variant__pk__in=list(variant_ids))
    items = InventoryItem.objects.filter(condition).order_by("pk")
    # An inventory adjustment locks the level first, and then inserts rows that refer to the item. A ``no_key`` lock
    # allows this insert, but a full lock would block it.
    ids = list(items.select_for_update(of=("self",), no_key=True).values_list("pk", flat=True))
    levels = InventoryLevel.objects.select_for_update().filter(item_id__in=ids)
    list(levels.order_by("item_id", "location_id").values_list("pk", flat=True))
    if deleting:
        list(InventoryItem.objects.select_for_update().filter(pk__in=ids).order_by("pk").values_list("pk", flat=True))
