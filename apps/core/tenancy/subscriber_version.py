"""The version of a shop's event subscribers, which changes whenever a subscriber is added or removed.

Each process caches subscriber data under this version. A shop without subscribers has version 0 and needs no query. For
other shops, each process loads the subscribers once per version. A request loads the version together with the access
token. Long-running work, such as an import, reloads the version while it runs.
"""

import time

from django.db.models import F

from apps.core.models import create_version
from apps.core.tenancy.models import App, Installation, Shop
from apps.core.tenancy.scope import all_shops_scope

FRESH_SECONDS = 1.0


def get_subscriber_version(shop: Shop) -> int:
    """Return the version. A value older than one second is reloaded."""
    now = time.monotonic()
    if now - shop.listening_read_at > FRESH_SECONDS:
        number = Shop.objects.values_list("listening_version", flat=True).filter(pk=shop.pk).first()
        set_subscriber_version(shop, number or 0)
    return shop.listening_version


def bump_subscriber_version(shop: Shop) -> None:
    """Set a new version in the current transaction, without changing other fields of the shop."""
    number = create_version()
    Shop.objects.filter(pk=shop.pk).update(listening_version=number, version=F("version"), updated_at=F("updated_at"))
    set_subscriber_version(shop, number)


def bump_subscriber_versions_of_app(app: App) -> None:
    with all_shops_scope():
        shops = Shop.objects.filter(pk__in=Installation.objects.filter(app=app, uninstalled_at=None).values("shop_id"))
    # Lock shops in ID order, like all code that locks several shops, to avoid deadlocks.
    locked_ids = list(shops.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
    Shop.objects.filter(pk__in=locked_ids).update(
        listening_version=create_version(), version=F("version"), updated_at=F("updated_at")
    )


def set_subscriber_version(shop: Shop, number: int) -> None:
    shop.listening_version = number
    shop.listening_read_at = time.monotonic()
