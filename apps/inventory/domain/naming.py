"""What staff call an item: the domain that sells items names them, and finds them by their names."""

from collections.abc import Callable, Mapping, Sequence

from django.db.models import Q

from apps.inventory.models import InventoryItem

Names = Callable[[Sequence[int]], Mapping[int, str]]
Matching = Callable[[str, int], Sequence[Q]]

_names: list[Names] = []
_matching: list[Matching] = []


def name_items(*, names: Names, matching: Matching) -> None:
    """Register who names items.

    Args:
        names: Gives ``{item id: name}`` for the items it knows, with a fixed number of queries.
        matching: Gives conditions on items for a word that staff look for, each of which an index serves and follows at
            most so many rows of another table.
    """
    _names.append(names)
    _matching.append(matching)


def names_of_items(items: Sequence[InventoryItem]) -> dict[int, str]:
    """The name of each item; its SKU or number where nobody names it."""
    found = {item.pk: str(item) for item in items}
    for names in _names:
        found |= names(list(found))
    return found


def conditions(term: str, most: int) -> list[Q]:
    """Conditions on items, of which one holds where SKU or name fits a word; of many names those of ``most`` rows."""
    return [Q(sku__istartswith=term), *(condition for matching in _matching for condition in matching(term, most))]
