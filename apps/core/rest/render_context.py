"""The shop, API version and currencies that a resource is rendered for."""

from dataclasses import dataclass, field
from datetime import tzinfo

from django.conf import settings

from apps.core.tenancy.currency_conversion import Presentment, get_presentments
from apps.core.tenancy.models import Shop


@dataclass(slots=True)
class RenderContext:
    """The data that rendering needs in addition to the database rows."""

    shop: Shop
    version: str
    # The requested currencies, or None for all currencies of the shop.
    currencies: frozenset[str] | None = None
    tz: tzinfo = field(init=False)
    brand: str = field(init=False)
    # The presentment currencies to render prices in, in addition to the shop currency.
    presentments: tuple[Presentment, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        self.tz = self.shop.tzinfo
        self.brand = settings.BRAND
        if self.shop.presentment_currencies:
            requested, presentments = self.currencies, get_presentments(self.shop)
            self.presentments = tuple(
                presentment for presentment in presentments if requested is None or presentment.currency in requested
            )
