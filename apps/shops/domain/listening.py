"""The number that moves whenever somebody begins or ceases to listen to a shop's events.

What is worked out of the listeners is kept under it, so a shop that nobody listens to (0) costs no query, and one that
somebody listens to costs one per process and number. A request reads the number with its token; where the shop was read
a while ago, as in a long import, it is read anew.
"""

import time

from django.db.models import F

from apps.ground.rows import fresh_version
from apps.ground.tenancy import every_shop
from apps.shops.models import App, Installation, Shop

FRESH_SECONDS = 1.0


def listening_version(shop: Shop) -> int:
    """The number as it is now, or was within the last second."""
    now = time.monotonic()
    if now - shop.listening_read_at > FRESH_SECONDS:
        number = Shop.objects.values_list("listening_version", flat=True).filter(pk=shop.pk).first()
        note_listening_version(shop, number or 0)
    return shop.listening_version


def listeners_changed(shop: Shop) -> None:
    """Move the number, in the transaction of the change; what else is kept of the shop stays."""
    number = fresh_version()
    Shop.objects.filter(pk=shop.pk).update(listening_version=number, version=F("version"), updated_at=F("updated_at"))
    note_listening_version(shop, number)


def listeners_of_app_changed(app: App) -> None:
    """Move the number of every shop that has an app."""
    with every_shop():
        shops = Shop.objects.filter(pk__in=Installation.objects.filter(app=app, uninstalled_at=None).values("shop_id"))
    # In the order of ids, as everybody who holds several.
    held = list(shops.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
    Shop.objects.filter(pk__in=held).update(
        listening_version=fresh_version(), version=F("version"), updated_at=F("updated_at")
    )


def note_listening_version(shop: Shop, number: int) -> None:
    """Put the number on a shop's object, as it was just read or written."""
    shop.listening_version = number
    shop.listening_read_at = time.monotonic()
