"""The items of discounts by the names that files have: handles, SKUs, country codes and email addresses."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from apps.core.i18n.messages import define_message
from apps.core.types import ReadOnlyAttrs
from apps.discounts.domain.price_rules import ITEM_LISTS, ItemList
from apps.discounts.models import PriceRuleItem
from apps.imports_exports.domain.rows import refuse_cell
from apps.imports_exports.resources.metafields.owners import OWNER_KEYS, find_owner_ids, get_owner_names
from apps.shops.models import ShopCountry

_UNKNOWN = define_message("discount_imports.unknown", "{name} does not exist in this shop")
# Results of imports are stored, so they do not contain email addresses.
_NO_CUSTOMER = define_message("discount_imports.no_customer", "no customer has email address {number} of this cell")
_AMBIGUOUS = define_message("discount_imports.ambiguous", "{name} is not unique in this shop")
_MAX_QUOTED = 100
_PLURALS = {
    "product": "products",
    "variant": "variants",
    "collection": "collections",
    "country": "countries",
    "customer": "customers",
}
# The lists of ids of a rule by the column of a file.
REFERENCES: Mapping[str, str] = {f"{entry.role}_{_PLURALS[entry.link]}": name for name, entry in ITEM_LISTS.items()}


def _get_entry(column: str) -> ItemList:
    return ITEM_LISTS[REFERENCES[column]]


def read_names(rule_ids: Collection[int]) -> Mapping[int, Mapping[str, Sequence[str]]]:
    """Return the names of the items of rules by rule and column.

    An item without a name, such as a variant without a SKU, gets its ID, which an import refuses. Without the item, the
    imported discount would have other terms.
    """
    items = list(PriceRuleItem.objects.filter(rule__in=rule_ids).order_by("pk"))
    names: defaultdict[int, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for column in REFERENCES:
        entry = _get_entry(column)
        ids = {item.pk: getattr(item, entry.column) for item in items if item.role == entry.role}
        known = _read_names(entry.link, {pk for pk in ids.values() if pk is not None})
        for item in items:
            if (pk := ids.get(item.pk)) is not None:
                names[item.rule_id][column].append(known.get(pk) or f"#{pk}")
    return names


def _read_names(link: str, ids: Collection[int]) -> Mapping[int, str]:
    if not ids:
        return {}
    if link == "country":
        return dict(ShopCountry.objects.filter(pk__in=ids).values_list("pk", "code"))
    return get_owner_names(link, ids)


def _normalize(link: str, name: object) -> str:
    text = name if isinstance(name, str) else ""
    return text.strip().upper() if link == "country" else OWNER_KEYS[link].normalize(text)


class ReferenceIndex:
    """The items that the discounts of a batch may refer to, found with one query per type."""

    def __init__(self, discounts: Iterable[ReadOnlyAttrs]) -> None:
        names: defaultdict[str, set[str]] = defaultdict(set)
        for discount in discounts:
            for column in REFERENCES:
                link = _get_entry(column).link
                names[link] |= {_normalize(link, name) for name in _get_list(discount, column)}
        self._ids = {link: self._find_ids(link, wanted - {""}) for link, wanted in names.items()}

    def _find_ids(self, link: str, names: Collection[str]) -> Mapping[str, Sequence[int]]:
        if not names:
            return {}
        if link == "country":
            rows = ShopCountry.objects.filter(code__in=names).values_list("code", "pk")
            return {code: [pk] for code, pk in rows}
        return find_owner_ids(link, names)

    def find(self, discount: ReadOnlyAttrs) -> dict[str, list[int]]:
        """Return the lists of ids of a rule. Raise ``RowRefused`` for a name that does not stand for one item."""
        return {
            REFERENCES[column]: [
                self._find_id(column, name, number) for number, name in enumerate(_get_list(discount, column), 1)
            ]
            for column in REFERENCES
        }

    def _find_id(self, column: str, name: object, number: int) -> int:
        link = _get_entry(column).link
        ids = self._ids[link].get(_normalize(link, name), ())
        if not ids and link == "customer":
            raise refuse_cell(column, _NO_CUSTOMER(number=number))
        if len(ids) != 1:
            raise refuse_cell(column, (_AMBIGUOUS if ids else _UNKNOWN)(name=repr(str(name)[:_MAX_QUOTED])))
        return ids[0]


def _get_list(discount: ReadOnlyAttrs, column: str) -> Sequence[object]:
    names = discount.get(column)
    return names if isinstance(names, list) else ()
