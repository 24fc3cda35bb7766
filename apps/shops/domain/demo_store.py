"""What the demo store holds: each domain registers its part, deterministic and believable."""

from collections.abc import Callable
from datetime import datetime

from apps.shops.models import Shop

Maker = Callable[[Shop, datetime], None]
_makers: dict[str, Maker] = {}


def register(name: str, make: Maker) -> None:
    """Add a part of the demo store; called once, in the new demo shop's scope, in the order of registration."""
    _makers[name] = make


def fill(shop: Shop, at: datetime) -> None:
    """Put every part into a fresh demo shop."""
    for make in _makers.values():
        make(shop, at)
