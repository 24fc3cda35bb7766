"""Display names of inventory items, provided by the app that sells them."""

from collections.abc import Callable, Mapping, Sequence

from django.db.models import Q

from apps.inventory.models import InventoryItem

NameSource = Callable[[Sequence[int]], Mapping[int, str]]
SearchSource = Callable[[str, int], Sequence[Q]]

_names: list[NameSource] = []
_matching: list[SearchSource] = []


def register_item_names(*, names: NameSource, matching: SearchSource) -> None:
    """Register a source of item names.

    Args:
        names: Returns ``{item id: name}`` for known items with a fixed number of queries.
        matching: Returns conditions on items for a search term; each condition uses an index and follows a limited
            number of rows of another table.
    """
    _names.append(names)
    _matching.append(matching)


def get_item_names(items: Sequence[InventoryItem]) -> dict[int, str]:
    """Return the name of each item; its SKU or id if no source has a name."""
    result = {item.pk: str(item) for item in items}
    for names in _names:
        result |= names(list(result))
    return result


def get_search_conditions(term: str, most: int) -> list[Q]:
    """Return alternative conditions on items for a search term; each follows at most ``most`` rows of another table."""
    return [Q(sku__istartswith=term), *(condition for matching in _matching for condition in matching(term, most))]
