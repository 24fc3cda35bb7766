"""Display names for inventory items. Other Django apps, such as the catalog, provide the names."""

from collections.abc import Callable, Mapping, Sequence

from django.db.models import Q

from apps.inventory.models import InventoryItem

NameSource = Callable[[Sequence[int]], Mapping[int, str]]
SearchSource = Callable[[str, int], Sequence[Q]]

_name_sources: list[NameSource] = []
_condition_sources: list[SearchSource] = []


def register_item_names(*, names: NameSource, matching: SearchSource) -> None:
    """Register a source of item names.

    Args:
        names: A function that returns ``{item id: name}`` for the items it knows, with a fixed number of queries.
        matching: A function that returns conditions on items for a search term. Each condition uses an index and joins
            a limited number of rows of another table.
    """
    _name_sources.append(names)
    _condition_sources.append(matching)


def get_item_names(items: Sequence[InventoryItem]) -> dict[int, str]:
    """Return the name of each item. If no source has a name for an item, return the item's SKU or id."""
    result = {item.pk: str(item) for item in items}
    for names in _name_sources:
        result |= names(list(result))
    return result


def get_search_conditions(term: str, most: int) -> list[Q]:
    """Return conditions on items for a search term. An item matches if at least one condition is true.

    Each condition joins at most ``most`` rows of another table.
    """
    return [
        Q(sku__istartswith=term),
        *(condition for matching in _condition_sources for condition in matching(term, most)),
    ]
