"""Registry of demo data: each app adds deterministic, realistic rows to the demo shop."""

from collections.abc import Callable
from datetime import datetime

from apps.shops.models import Shop

DemoDataFactory = Callable[[Shop, datetime], None]
_makers: dict[str, DemoDataFactory] = {}


def register_demo_data(name: str, make: DemoDataFactory) -> None:
    """Register a part of the demo data, called once in the shop scope of the new demo shop, in registration order."""
    _makers[name] = make


def create_demo_data(shop: Shop, at: datetime) -> None:
    """Create all demo data in a new demo shop."""
    for make in _makers.values():
        make(shop, at)
