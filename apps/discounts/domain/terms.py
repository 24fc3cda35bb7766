"""Read discount codes with all rows that the calculation of a cart needs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from apps.catalog.domain.collections.membership import get_collection_products
from apps.catalog.models import Collect, Collection
from apps.core.db.case_folding import casefold_text
from apps.discounts.models import DiscountCode, PriceRule, PriceRuleItem

_Role = PriceRuleItem.Role
# The largest number of parts between commas in which ``split_codes`` recognizes a code of the shop.
_MOST_PARTS = 12


@dataclass(slots=True)
class ItemSet:
    """Products and variants. The products include those of the selected collections."""

    product_ids: set[int] = field(default_factory=set)
    variant_ids: set[int] = field(default_factory=set)

    def includes(self, product_id: int | None, variant_id: int | None) -> bool:
        return product_id in self.product_ids or variant_id in self.variant_ids


@dataclass(slots=True)
class CodeTerms:
    """A code with its rule, and the items, customers and countries that the rule selects."""

    code: DiscountCode
    entitled: ItemSet = field(default_factory=ItemSet)
    prerequisite: ItemSet = field(default_factory=ItemSet)
    customer_ids: set[int] = field(default_factory=set)
    country_codes: set[str] = field(default_factory=set)

    @property
    def rule(self) -> PriceRule:
        return self.code.rule


def normalize_code(code: str) -> str:
    """Return the key by which codes are compared: without surrounding spaces and regardless of case."""
    return casefold_text(code.strip())


def get_unique_codes(codes: Iterable[str]) -> dict[str, str]:
    """Return the codes that are not blank by normalized code. The first of several spellings counts."""
    unique: dict[str, str] = {}
    for code in codes:
        if text := code.strip():
            unique.setdefault(normalize_code(text), text)
    return unique


def split_codes(text: str, known: Sequence[str] = ()) -> list[str]:
    """Split a text at its commas, except at those inside ``known`` codes and inside codes of the shop."""
    parts = [part.strip() for part in text.split(",")]
    known_codes = {_ignore_spaces(code): code for code in known}
    codes = _find_codes_with_commas(parts) | known_codes
    most = max((code.count(",") + 1 for code in codes.values()), default=1)
    found: list[str] = []
    i = 0
    while i < len(parts):
        keys = {_ignore_spaces(",".join(parts[i:end])): end for end in range(min(i + most, len(parts)), i, -1)}
        # The longest known code, then the longest code of the shop, then the text before the next comma.
        key = next((key for group in (known_codes, codes) for key in keys if key in group), "")
        found.append(codes.get(key, parts[i]))
        i = keys.get(key, i + 1)
    return found


def _find_codes_with_commas(parts: Sequence[str]) -> dict[str, str]:
    """Return the codes of the shop that have commas and consist of neighboring parts."""
    spans = [parts[i:end] for i in range(len(parts)) for end in range(i + 2, min(i + _MOST_PARTS, len(parts)) + 1)]
    texts = [separator.join(span) for span in spans for separator in (",", ", ")]
    return {_ignore_spaces(row.code): row.code for row in find_codes(texts).values()} if texts else {}


def _ignore_spaces(code: str) -> str:
    """Return the normalized code without spaces around its commas."""
    return ",".join(part.strip() for part in normalize_code(code).split(","))


def find_codes(codes: Iterable[str]) -> dict[str, DiscountCode]:
    """Return the shop's codes with their rules, by normalized code."""
    keys = {normalize_code(code) for code in codes}
    rows = DiscountCode.objects.filter(code_key__in=keys).select_related("rule")
    return {row.code_key: row for row in rows}


def load_terms(codes: Sequence[str], product_ids: Iterable[int]) -> dict[str, CodeTerms]:
    """Return the terms of the codes that exist, by normalized code. ``product_ids`` are the products in the cart."""
    rows = find_codes(codes)
    if not rows:
        return {}
    terms = {key: CodeTerms(row) for key, row in rows.items()}
    items = PriceRuleItem.objects.filter(rule_id__in={row.rule_id for row in rows.values()}).select_related("country")
    items_by_rule: dict[int, list[PriceRuleItem]] = {}
    for item in items:
        items_by_rule.setdefault(item.rule_id, []).append(item)
    collection_ids = {item.collection_id for item in items if item.collection_id is not None}
    products = _find_products_of_collections(collection_ids, set(product_ids))
    for entry in terms.values():
        for item in items_by_rule.get(entry.code.rule_id, ()):
            _add_item(entry, item, products)
    return terms


def _add_item(terms: CodeTerms, item: PriceRuleItem, products: dict[int, set[int]]) -> None:
    items = terms.entitled if item.role == _Role.ENTITLED else terms.prerequisite
    if item.product_id is not None:
        items.product_ids.add(item.product_id)
    elif item.variant_id is not None:
        items.variant_ids.add(item.variant_id)
    elif item.collection_id is not None:
        items.product_ids |= products.get(item.collection_id, set())
    elif item.country is not None:
        terms.country_codes.add(item.country.code)
    elif item.customer_id is not None:
        terms.customer_ids.add(item.customer_id)


def _find_products_of_collections(collection_ids: set[int], product_ids: set[int]) -> dict[int, set[int]]:
    """Return which of the products are in each collection."""
    if not (collection_ids and product_ids):
        return {}
    found: dict[int, set[int]] = {}
    for collection_id, product_id in _read_collects(collection_ids, product_ids):
        found.setdefault(collection_id, set()).add(product_id)
    for collection in Collection.objects.filter(pk__in=collection_ids, kind=Collection.Kind.SMART):
        matches = get_collection_products(collection).filter(pk__in=product_ids)
        found[collection.pk] = set(matches.values_list("pk", flat=True))
    return found


def _read_collects(collection_ids: set[int], product_ids: set[int]) -> Iterator[tuple[int, int]]:
    rows = Collect.objects.filter(collection_id__in=collection_ids, product_id__in=product_ids)
    yield from rows.values_list("collection_id", "product_id")
