"""Find the owners of metafields by the names that people know: handles, SKUs, emails and order names."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Model, QuerySet, Value
from django.db.models.functions import Concat

from apps.catalog.models import Collection as ProductCollection
from apps.catalog.models import Product, Variant
from apps.content.models import Article, Blog, Page
from apps.core.db.case_folding import build_email_key
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.customers.models import Customer
from apps.orders.models import Order


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerKey:
    """Describes how files name the owners of one type.

    Attributes:
        field: The column that identifies an owner, or an expression.
        normalize: Returns the stored form of a name in a file.
        importable_with, exportable_with: The Django permissions to import and export metafields of these owners.
    """

    model: type[Model]
    field: F | Concat
    normalize: Callable[[str], str] = str.strip
    importable_with: str
    exportable_with: str


_EXPORT_PRODUCTS = "catalog.export_product"
OWNER_KEYS: Mapping[str, OwnerKey] = {
    "product": OwnerKey(
        model=Product,
        field=F("handle"),
        importable_with="catalog.change_product",
        exportable_with=_EXPORT_PRODUCTS,
    ),
    "variant": OwnerKey(
        model=Variant,
        field=F("inventory_item__sku"),
        importable_with="catalog.change_variant",
        exportable_with=_EXPORT_PRODUCTS,
    ),
    "collection": OwnerKey(
        model=ProductCollection,
        field=F("handle"),
        importable_with="catalog.change_customcollection",
        exportable_with=_EXPORT_PRODUCTS,
    ),
    "customer": OwnerKey(
        model=Customer,
        field=F("email_key"),
        normalize=lambda text: build_email_key(text.strip()),
        importable_with="customers.change_customer",
        exportable_with="customers.export_customer",
    ),
    "order": OwnerKey(
        model=Order,
        field=F("name"),
        importable_with="orders.change_order",
        exportable_with="orders.export_order",
    ),
    "blog": OwnerKey(
        model=Blog,
        field=F("handle"),
        importable_with="content.change_blog",
        exportable_with="content.view_blog",
    ),
    "article": OwnerKey(
        model=Article,
        field=Concat(F("blog__handle"), Value("/"), F("handle")),
        importable_with="content.change_article",
        exportable_with="content.view_article",
    ),
    "page": OwnerKey(
        model=Page,
        field=F("handle"),
        importable_with="content.change_page",
        exportable_with="content.view_page",
    ),
    "shop": OwnerKey(
        model=Shop,
        field=F("domain"),
        normalize=lambda text: text.strip().lower() or get_current_shop().domain,
        importable_with="metafields.change_metafield",
        exportable_with="metafields.view_metafield",
    ),
}


def find_owner_ids(resource: str, names: Collection[str]) -> Mapping[str, Sequence[int]]:
    """Return the ids of the owners with these normalized names, keyed by name."""
    ids: defaultdict[str, list[int]] = defaultdict(list)
    for name, pk in _get_owners(resource).filter(file_name__in=names).values_list("file_name", "pk"):
        ids[name].append(pk)
    return ids


def get_owner_names(resource: str, ids: Collection[int]) -> Mapping[int, str]:
    """Return the names of owners, keyed by id. The name of an owner without one is blank."""
    return dict(_get_owners(resource).filter(pk__in=ids).values_list("pk", "file_name"))


def _get_owners(resource: str) -> QuerySet[Any]:
    key = OWNER_KEYS[resource]
    owners = key.model._default_manager.annotate(file_name=key.field)
    return owners.filter(pk=get_current_shop().pk) if key.model is Shop else owners
