"""What the rendering of a resource depends on besides its rows."""

from dataclasses import dataclass, field
from datetime import tzinfo

from django.conf import settings

from apps.shops.models import Shop


@dataclass(slots=True)
class Context:
    """What the rendering of an object depends on besides its rows."""

    shop: Shop
    version: str
    tz: tzinfo = field(init=False)
    brand: str = field(init=False)

    def __post_init__(self) -> None:
        """Look the time zone up once."""
        self.tz = self.shop.tzinfo
        self.brand = settings.BRAND
