"""The lists of products, collections and customers in the form of a discount, each with a search field.

A search sends the whole form, and the server answers with the matches as checkboxes. So pickers need no scripts. With
scripts, an opened picker shows the first rows, and each typed letter searches.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from apps.catalog.models import Collection, Product, Variant
from apps.core.admin.lists.search import search_rows
from apps.core.admin.permissions import has_permission
from apps.core.tenancy.shop_owned import ShopOwned
from apps.customers.admin.changelist_search import find_by_words
from apps.customers.models import Customer
from apps.discounts.domain.price_rules import ITEM_LISTS, MAX_ITEMS

MAX_FOUND, MAX_TERM = 20, 255
_ID = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)
_VIEW_CUSTOMER = "customers.view_customer"


@dataclass(frozen=True, slots=True)
class Choice:
    id: int
    name: str


@dataclass(slots=True)
class Picker:
    """The chosen rows of a list, and the matches of the search text that are not chosen.

    ``searched`` is the text of the last search. ``can_search`` is False if the user may not see rows of this kind.
    """

    name: str
    label: StrOrPromise
    chosen: list[Choice]
    term: str = ""
    searched: str = ""
    found: list[Choice] = field(default_factory=list)
    note: str = ""
    errors: list[str] = field(default_factory=list)
    can_search: bool = True

    @property
    def ids(self) -> list[int]:
        return [choice.id for choice in self.chosen]

    @property
    def is_open(self) -> bool:
        """Return True if the search text is new, so the user may expect that its match is saved."""
        return bool(self.term) and self.term != self.searched


def _search_titles(model: type[Product] | type[Collection], term: str) -> QuerySet[Any]:
    rows = search_rows(model.rows(), ("title_key__contains", "handle__istartswith"), term, limit=MAX_FOUND + 1)
    return rows.order_by("title_key", "pk")


def _search_customers(term: str) -> QuerySet[Any]:
    return find_by_words(term, limit=MAX_FOUND + 1) if term else Customer.rows().order_by("-pk")


_search_products, _search_collections = partial(_search_titles, Product), partial(_search_titles, Collection)
_PRODUCTS, _COLLECTIONS = gettext_lazy("Products"), gettext_lazy("Collections")
_VARIANTS = gettext_lazy("Variants")
# The label and the search of each list. Lists without a search only show rows that apps have chosen.
_LISTS: dict[str, tuple[StrOrPromise, Callable[[str], QuerySet[ShopOwned]] | None]] = {
    "entitled_product_ids": (_PRODUCTS, _search_products),
    "entitled_collection_ids": (_COLLECTIONS, _search_collections),
    "entitled_variant_ids": (_VARIANTS, None),
    "prerequisite_product_ids": (_PRODUCTS, _search_products),
    "prerequisite_collection_ids": (_COLLECTIONS, _search_collections),
    "prerequisite_variant_ids": (_VARIANTS, None),
    "prerequisite_customer_ids": (gettext_lazy("Customers"), _search_customers),
}


def build_pickers(
    request: HttpRequest, ids: Mapping[str, Sequence[int]], data: QueryDict | None = None
) -> dict[str, Picker]:
    """Return the pickers with the chosen ids of ``data``, if it is given, or else with ``ids``."""
    pickers: dict[str, Picker] = {}
    for name, (label, find) in _LISTS.items():
        chosen = parse_ids(data.getlist(name)) if data is not None else list(ids.get(name, ()))
        can_search = find is not None and (
            ITEM_LISTS[name].model is not Customer or has_permission(request, _VIEW_CUSTOMER)
        )
        picker = pickers[name] = Picker(name, label, _load_choices(request, name, chosen), can_search=can_search)
        if data is not None and can_search:
            picker.term, picker.searched = (_clean_text(data.get(f"{part}-{name}")) for part in ("find", "found"))
    return pickers


def search(picker: Picker, *, lists_first: bool = False) -> None:
    """Find the rows that match the search text. With ``lists_first``, a blank text finds the first rows."""
    find = _LISTS[picker.name][1]
    if find is None or not picker.can_search or not (picker.term or lists_first):
        return
    rows = list(find(picker.term)[: MAX_FOUND + 1])
    picker.searched, chosen = picker.term, set(picker.ids)
    picker.found = [_describe(row) for row in rows[:MAX_FOUND] if row.pk not in chosen]
    if not rows and not picker.term:
        picker.note = _("There is nothing to select yet.")
    elif not rows:
        picker.note = _("Nothing matches “{term}”.").format(term=picker.term)
    elif len(rows) > MAX_FOUND and not picker.term:
        picker.note = _("The first {number} are shown. Enter letters to find others.").format(number=MAX_FOUND)
    elif len(rows) > MAX_FOUND:
        picker.note = _("Only the first {number} matches are shown. Enter more letters.").format(number=MAX_FOUND)
    elif not picker.found:
        picker.note = _("All matches are already selected.")


def parse_ids(texts: Sequence[str]) -> list[int]:
    """Return the valid ids. One more than the maximum is kept, so that the service refuses longer lists."""
    return list(dict.fromkeys(int(text) for text in texts if _ID.fullmatch(text)))[: MAX_ITEMS + 1]


def _load_choices(request: HttpRequest, name: str, ids: Sequence[int]) -> list[Choice]:
    """Return the existing rows in the order of ``ids``. Rows that were deleted in the meantime are left out."""
    if not ids:
        return []
    model = ITEM_LISTS[name].model
    rows = {row.pk: row for row in _with_names(model.objects.filter(pk__in=ids))}
    if model is Customer and not has_permission(request, _VIEW_CUSTOMER):
        return [Choice(pk, _("Customer {id}").format(id=pk)) for pk in ids if pk in rows]
    return [_describe(rows[pk]) for pk in ids if pk in rows]


def _with_names(rows: QuerySet[Any]) -> QuerySet[Any]:
    return rows.select_related("product") if rows.model is Variant else rows


def _describe(row: ShopOwned) -> Choice:
    if isinstance(row, Variant):
        return Choice(row.pk, row.full_name)
    if isinstance(row, Customer) and row.email and row.email != str(row):
        return Choice(row.pk, f"{row} ({row.email})")
    return Choice(row.pk, str(row))


def _clean_text(text: str | None) -> str:
    return (text or "").replace("\0", "").strip()[:MAX_TERM]
