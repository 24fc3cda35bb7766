from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Self

from django.db import models

from apps.core.models import Timestamped, TimestampedQuerySet, create_shop_manager
from apps.core.tenancy.scope import get_current_shop

if TYPE_CHECKING:
    from apps.core.models import ShopManager
    from apps.core.tenancy.models.shops import Shop


def unindexed_shop_fk() -> "models.ForeignKey[Shop, Shop]":
    """Return a ``shop`` field without an index, for large tables with other indexes that begin with the shop."""
    return models.ForeignKey("shops.Shop", on_delete=models.CASCADE, related_name="+", editable=False, db_index=False)


class ShopOwned(Timestamped):
    """A row of one shop. ``written_related`` has the related rows created with a new row, by relation name."""

    written_related: "Mapping[str, Sequence[ShopOwned]]" = {}

    shop: "models.ForeignKey[Shop, Shop]" = models.ForeignKey(
        "shops.Shop", on_delete=models.CASCADE, related_name="+", editable=False
    )

    objects: "ClassVar[ShopManager[Self]]" = create_shop_manager(TimestampedQuerySet)

    class Meta:
        abstract = True

    @classmethod
    def rows(cls) -> TimestampedQuerySet[Self]:
        return cls.objects.get_queryset().filter(shop=get_current_shop())
