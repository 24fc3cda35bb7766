from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from django.db import models
from django.db.models.signals import class_prepared
from django.dispatch import receiver

from apps.core.models import Timestamped, TimestampedQuerySet, create_shop_manager
from apps.core.tenancy.scope import get_current_shop

if TYPE_CHECKING:
    from apps.core.models import ShopManager
    from apps.core.tenancy.models.shops import Shop


class ShopOwned(Timestamped):
    """A row of one shop. ``written_related`` has the related rows created with a new row, by relation name.

    The ``shop`` column has an index of its own only if no other index begins with it (``drop_redundant_shop_index``).
    """

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


@receiver(class_prepared)
def drop_redundant_shop_index(sender: type[models.Model], **_: Any) -> None:
    """Declare no index on the ``shop`` column alone if another index or unique constraint begins with this column.

    Such an index serves no query, slows down writes, and lets PostgreSQL choose plans that read all rows of a shop.
    """
    if not issubclass(sender, ShopOwned):
        return
    unique = [item for item in sender._meta.constraints if isinstance(item, models.UniqueConstraint)]
    if any(
        item.condition is None and item.fields[:1] in (["shop"], ("shop",)) for item in (*sender._meta.indexes, *unique)
    ):
        sender._meta.get_field("shop").db_index = False  # type: ignore[attr-defined]
