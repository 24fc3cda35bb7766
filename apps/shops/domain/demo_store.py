"""A registry of functions that add deterministic, realistic demo data to the demo shop."""

from collections.abc import Callable
from datetime import datetime

from apps.shops.models import Shop

DemoDataFactory = Callable[[Shop, datetime], None]
_makers: dict[str, DemoDataFactory] = {}


def register_demo_data(name: str, factory: DemoDataFactory) -> None:
    """Register a function that adds demo data to a new demo shop.

    The functions are called in the shop scope, in registration order.
    """
    _makers[name] = factory


def create_demo_data(shop: Shop, at: datetime) -> None:
    """Create all demo data in a new demo shop."""
    for factory in _makers.values():
        factory(shop, at)
