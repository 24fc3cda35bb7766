"""Fulfillment services that a variant can use: ``manual``, and services that other Django apps add."""

from collections.abc import Callable, Iterable
from datetime import datetime

from apps.catalog.models import Product, Variant
from apps.core.events.recording import EventInput, record_events
from apps.core.registry import Registry

MANUAL = "manual"
# Functions that return the service handles of the current shop.
service_handles = Registry[str, Callable[[], Iterable[str]]]("fulfillment service handles")


def get_service_handles() -> set[str]:
    return {MANUAL, *(handle for source in service_handles.values() for handle in source())}


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
