"""Which services a variant may name as its fulfiller: ``manual``, and those that a later domain registers."""

from collections.abc import Callable, Iterable
from datetime import datetime

from apps.catalog.models import Product, Variant
from apps.events.domain.recording import Happening, record_events

MANUAL = "manual"
_sources: list[Callable[[], Iterable[str]]] = []


def register(handles: Callable[[], Iterable[str]]) -> None:
    """Add a source of handles; called in the scope of the shop."""
    _sources.append(handles)


def known_handles() -> set[str]:
    """The handles that a variant of the current shop may name."""
    return {MANUAL, *(handle for source in _sources for handle in source())}


def release(handle: str, *, actor: str, at: datetime) -> int:
    """Let the merchant fulfil what named a service that is no more; returns how many products that touched.

    Call it in a transaction that holds the stock it is about to change.
    """
    naming = Variant.objects.filter(fulfillment_service=handle)
    products = Product.objects.select_for_update(no_key=True).filter(pk__in=naming.values("product_id"))
    held = list(products.order_by("pk"))
    naming.update(fulfillment_service=MANUAL)
    Product.objects.filter(pk__in=[product.pk for product in held]).update()
    record_events([Happening("products/update", product) for product in held], actor=actor, at=at)
    return len(held)
