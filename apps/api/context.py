"""What the rendering of a resource depends on besides its rows."""

from dataclasses import dataclass, field
from datetime import tzinfo

from django.conf import settings

from apps.shops.domain.presentment import Presentment, presentments_of
from apps.shops.models import Shop


@dataclass(slots=True)
class Context:
    """What the rendering of an object depends on besides its rows."""

    shop: Shop
    version: str
    # The currencies that prices are shown in, where they were asked for by name.
    currencies: frozenset[str] | None = None
    tz: tzinfo = field(init=False)
    brand: str = field(init=False)
    # Beside the shop's own currency, those that prices are shown in.
    presentments: tuple[Presentment, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        """Look the time zone up once."""
        self.tz = self.shop.tzinfo
        self.brand = settings.BRAND
        if self.shop.presentment_currencies:
            asked, every = self.currencies, presentments_of(self.shop)
            self.presentments = tuple(each for each in every if asked is None or each.currency in asked)
