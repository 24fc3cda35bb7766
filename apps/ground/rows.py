"""What every row has: a shop, time stamps, and a version where it is the root of an aggregate."""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from django.db import models
from django.utils import timezone
from django_scopes import ScopedManager

from apps.ground import sql
from apps.ground.tenancy import current_shop

if TYPE_CHECKING:
    from apps.shops.models import Shop

M = TypeVar("M", bound=models.Model)


def fresh_version() -> int:
    """A value that no earlier state of a row carried; nanoseconds since 1970.

    Two changes of one row are ordered by its lock, so the clock cannot give both the same value.
    """
    return time.time_ns()


class VersionField(models.BigIntegerField[int, int]):
    """Takes a fresh value at each save, so that equal versions mean equal content."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Like a big integer that no form shows."""
        kwargs.setdefault("default", fresh_version)
        kwargs.setdefault("editable", False)
        super().__init__(*args, **kwargs)

    def pre_save(self, model_instance: models.Model, add: bool) -> int:
        """Put a fresh version on the instance and into the row."""
        version = fresh_version()
        setattr(model_instance, self.attname, version)
        return version


class TimestampedQuerySet(models.QuerySet[M]):
    """A queryset whose ``update`` moves ``updated_at`` and the version, as ``save`` does."""

    def update(self, **kwargs: Any) -> int:
        """Update rows, and say when, unless the caller says so itself."""
        names = {field.name for field in self.model._meta.concrete_fields}
        if "updated_at" in names:
            kwargs.setdefault("updated_at", timezone.now())
        if "version" in names:
            kwargs.setdefault("version", fresh_version())
        return super().update(**kwargs)

    update.alters_data = True  # type: ignore[attr-defined]


if TYPE_CHECKING:

    class ShopManager(models.Manager[M]):
        """What ``shop_manager`` makes: a manager whose querysets move time stamps and versions."""

        def get_queryset(self) -> TimestampedQuerySet[M]:
            """The rows of the scope's shop."""


def shop_manager(queryset: type[models.QuerySet[M]], manager: type[models.Manager[M]] = models.Manager) -> Any:
    """A manager that works inside of a shop's scope only."""
    return ScopedManager(shop="shop", _manager_class=manager.from_queryset(queryset))


class Timestamped(models.Model):
    """A row that knows when it was made and when it last changed."""

    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True

    def save(self, **kwargs: Any) -> None:
        """Save; a partial save takes the time stamp and the version along."""
        if (fields := kwargs.get("update_fields")) is not None:
            own = {field.name for field in self._meta.concrete_fields}
            kwargs["update_fields"] = {*fields, *({"updated_at", "version"} & own)}
        super().save(**kwargs)

    def _do_insert(
        self,
        manager: models.Manager[Self],
        using: str | None,
        fields: Sequence[sql.AnyField],
        returning_fields: Sequence[sql.AnyField],
        raw: bool,
    ) -> sql.Rows:
        """Insert with a statement written once per model; the ORM would write it anew for each row."""
        rows = None if raw or not returning_fields else sql.insert(self, fields, returning_fields)
        if rows is None:
            rows = super()._do_insert(manager, using, fields, returning_fields, raw)  # type: ignore[misc]
        return rows


class ShopOwned(Timestamped):
    """A row that belongs to one shop.

    Attributes:
        written: By relation, all related rows that a service wrote together with this new one.
    """

    written: "Mapping[str, Sequence[ShopOwned]]" = {}

    shop: "models.ForeignKey[Shop, Shop]" = models.ForeignKey(
        "shops.Shop", on_delete=models.CASCADE, related_name="+", editable=False
    )

    objects: "ClassVar[ShopManager[Self]]" = shop_manager(TimestampedQuerySet)

    class Meta:
        abstract = True

    @classmethod
    def rows(cls) -> TimestampedQuerySet[Self]:
        """The rows of the current shop."""
        return cls.objects.get_queryset().filter(shop=current_shop())
