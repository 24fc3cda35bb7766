"""Find items by a scanned code, such as a SKU or a barcode, or by a search term."""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

from django.db.models import Q

from apps.inventory.domain.hooks import get_code_conditions, get_search_conditions
from apps.inventory.models import InventoryItem

MAX_CODE_LENGTH = 255
MAX_FOUND = 10


@dataclass(frozen=True, slots=True)
class FoundItems:
    """The items that match a code or term. ``has_code`` is True if it is the SKU or barcode of these items."""

    items: list[InventoryItem]
    has_code: bool = False

    @property
    def is_exact(self) -> bool:
        """Return True if the code belongs to one item and to no other."""
        return self.has_code and len(self.items) == 1


def find_items(code: str) -> FoundItems:
    """Return the items with this SKU or barcode. Otherwise, return up to ten newest items to choose from.

    Items are in the order of their creation, so that variants are in the order of their product.
    """
    code = code.replace("\0", "").strip()[:MAX_CODE_LENGTH]
    if not code:
        return FoundItems([])
    # The same SKU in another case has its own query, because a search is cut off at ten newer items.
    items = _find(get_code_conditions(code, MAX_FOUND)) or _find([Q(sku__iexact=code)])
    return FoundItems(items, has_code=True) if items else FoundItems(_find(get_search_conditions(code, MAX_FOUND)))


def _find(conditions: Iterable[Q]) -> list[InventoryItem]:
    found: dict[int, InventoryItem] = {}
    for condition in conditions:
        for item in InventoryItem.objects.filter(condition).order_by("-pk")[:MAX_FOUND]:
            found.setdefault(item.pk, item)
    return sorted(list(found.values())[:MAX_FOUND], key=attrgetter("pk"))
