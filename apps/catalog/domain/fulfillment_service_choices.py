"""Fulfillment services that a variant can use: ``manual``, and services that other Django apps add."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from django.conf import settings

from apps.catalog.models import Product, Variant
from apps.core.events.recording import EventInput, record_events
from apps.core.registry import Registry

MANUAL = "manual"
# Functions that return the location ids of the current shop's services, keyed by handle.
service_locations = Registry[str, Callable[[], Mapping[str, int]]]("fulfillment service locations")


def get_all_service_locations() -> dict[str, int]:
    return {handle: location for source in service_locations.values() for handle, location in source().items()}


def get_service_locations(handles: Iterable[str]) -> dict[str, int]:
    """Return the location ids of the services, keyed by handle, or an empty dict if no handle is a service's."""
    return get_all_service_locations() if set(handles) - {MANUAL, ""} else {}


def get_service_handles() -> set[str]:
    return {MANUAL, *get_all_service_locations()}


def get_inventory_management(*, tracked: bool, service: str) -> str | None:
    """Return who tracks a variant's inventory: its fulfillment service, or the shop. None if it is not tracked."""
    if not tracked:
        return None
    return settings.BRAND if service in {MANUAL, ""} else service


def reset_fulfillment_service(handle: str, *, actor: str, at: datetime) -> int:
    """Reset the variants of a deleted service to manual fulfillment. Return the number of affected products.

    If the transaction also changes stock, the caller must lock the stock first.
    """
    variants = Variant.objects.filter(fulfillment_service=handle)
    products = Product.objects.select_for_update(no_key=True).filter(pk__in=variants.values("product_id"))
    locked_products = list(products.order_by("pk"))
    variants.update(fulfillment_service=MANUAL)
    Product.objects.filter(pk__in=[product.pk for product in locked_products]).update()
    record_events([EventInput("products/update", product) for product in locked_products], actor=actor, at=at)
    return len(locked_products)
