"""Publish products and collections to the sales channels of apps, and notify the apps of changes.

Each app sees only its own listings. The listing of a draft or archived product is kept but not visible: the app is
notified as if the product were removed, and as if it were added when the product becomes active again.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from django.db import transaction
from django.db.models import Model

from apps.catalog.domain.locks import lock_collection, lock_product
from apps.catalog.models import CollectionListing, Product, ProductListing
from apps.core.events.models import Event
from apps.core.events.recording import (
    EventInput,
    get_audience_versions,
    record_event,
    record_events,
    record_secondary_events,
)
from apps.core.exceptions import RowDeleted
from apps.core.tenancy.models import Installation, Shop
from apps.shops.domain.app_installation import lock_active

PRODUCTS, COLLECTIONS = "product_listings", "collection_listings"
Listing: TypeAlias = ProductListing | CollectionListing
VERBS = ("add", "update", "remove")
# The listings that change when an event of a product or collection is recorded, keyed by topic.
_FAMILIES: Mapping[str, str] = {
    "products/update": PRODUCTS,
    "products/delete": PRODUCTS,
    "collections/update": COLLECTIONS,
    "collections/delete": COLLECTIONS,
}


@transaction.atomic(savepoint=False)
def publish_product(installation: Installation, product_id: int, *, actor: str, at: datetime) -> None:
    """Publish a product to the app's sales channel. Publishing a product again changes nothing.

    Raises:
        NotInstalled: The app was uninstalled in the meantime.
        RowDeleted: The product was deleted in the meantime.
    """
    lock_active(installation.app_id)
    product = lock_product(product_id)
    listing, created = ProductListing.objects.get_or_create(
        app_id=installation.app_id, product=product, defaults={"shop_id": product.shop_id, "published_at": at}
    )
    if created and product.status == Product.Status.ACTIVE:
        record_event(f"{PRODUCTS}/add", listing, actor=actor, at=at)


@transaction.atomic(savepoint=False)
def publish_collection(installation: Installation, collection_id: int, *, actor: str, at: datetime) -> None:
    """Publish a collection to the app's sales channel, like ``publish_product``."""
    lock_active(installation.app_id)
    collection = lock_collection(collection_id)
    listing, created = CollectionListing.objects.get_or_create(
        app_id=installation.app_id,
        collection=collection,
        defaults={"shop_id": collection.shop_id, "published_at": at},
    )
    if created:
        record_event(f"{COLLECTIONS}/add", listing, actor=actor, at=at)


@transaction.atomic(savepoint=False)
def unpublish_product(installation: Installation, product_id: int, *, actor: str, at: datetime) -> None:
    """Remove a product from the app's sales channel.

    Raises:
        RowDeleted: The app has no listing of the product, or the product was deleted in the meantime.
    """
    product = lock_product(product_id)
    listings = list(ProductListing.objects.filter(app_id=installation.app_id, product=product))
    if not listings:
        raise RowDeleted
    if product.status == Product.Status.ACTIVE:
        record_events([EventInput(f"{PRODUCTS}/remove", row) for row in listings], actor=actor, at=at)
    ProductListing.objects.filter(pk__in=[row.pk for row in listings]).delete()


@transaction.atomic(savepoint=False)
def unpublish_collection(installation: Installation, collection_id: int, *, actor: str, at: datetime) -> None:
    """Remove a collection from the app's sales channel, like ``unpublish_product``."""
    collection = lock_collection(collection_id)
    listings = list(CollectionListing.objects.filter(app_id=installation.app_id, collection=collection))
    if not listings:
        raise RowDeleted
    record_events([EventInput(f"{COLLECTIONS}/remove", row) for row in listings], actor=actor, at=at)
    CollectionListing.objects.filter(pk__in=[row.pk for row in listings]).delete()


def delete_listings(installation: Installation, at: datetime) -> None:
    """Delete the listings of an app that is being uninstalled."""
    ProductListing.objects.filter(app_id=installation.app_id).delete()
    CollectionListing.objects.filter(app_id=installation.app_id).delete()


def get_api_versions(shop: Shop, topic: str) -> frozenset[str]:
    """Return the API versions in which apps receive the listings that change with a product or collection."""
    family = _FAMILIES.get(topic)
    if family is None:
        return frozenset()
    return frozenset().union(*(get_audience_versions(shop, f"{family}/{verb}") for verb in VERBS))


def record_listing_events(events: Sequence[tuple[Event, Model]]) -> None:
    """Record the events of the listings of products and collections that were changed or are being deleted."""
    listings = _load_listings(events)
    for event, instance in events:
        inputs = list(_build_inputs(event, listings[_get_family(event), instance.pk]))
        if inputs:
            record_secondary_events(inputs, actor=event.actor, at=event.created_at)


def _get_family(event: Event) -> str:
    return _FAMILIES[event.topic]


def _load_listings(events: Sequence[tuple[Event, Model]]) -> Mapping[tuple[str, int], list[Listing]]:
    """Return the listings of all products and collections, by family and the id of the product or collection."""
    ids: defaultdict[str, set[int]] = defaultdict(set)
    for event, instance in events:
        ids[_get_family(event)].add(instance.pk)
    listings: defaultdict[tuple[str, int], list[Listing]] = defaultdict(list)
    if product_ids := ids[PRODUCTS]:
        products = ProductListing.objects.filter(product_id__in=product_ids)
        for row in products.select_related("product").order_by("pk"):
            listings[PRODUCTS, row.product_id].append(row)
    if collection_ids := ids[COLLECTIONS]:
        for listing in CollectionListing.objects.filter(collection_id__in=collection_ids).order_by("pk"):
            listings[COLLECTIONS, listing.collection_id].append(listing)
    return listings


def _build_inputs(event: Event, listings: Sequence[Listing]) -> Iterator[EventInput]:
    for listing in listings:
        if isinstance(listing, CollectionListing):
            verb = "remove" if event.topic.endswith("/delete") else "update"
        else:
            verb = _get_verb(event, listing.product.status)
        if verb:
            yield EventInput(f"{_get_family(event)}/{verb}", listing)


def _get_verb(event: Event, status: str) -> str:
    """Return the verb of a listing's event, or "" if the listing was and remains invisible."""
    is_active = status == Product.Status.ACTIVE
    if event.topic == "products/delete":
        return "remove" if is_active else ""
    before, after = event.changes.get("status", (status, status))
    if is_active:
        return "update" if before == after else "add"
    return "remove" if before == Product.Status.ACTIVE else ""
