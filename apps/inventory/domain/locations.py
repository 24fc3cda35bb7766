"""The life of a location: opened, changed, deactivated, activated, removed.

Rule: decisions, Locations.
"""

from collections.abc import Callable, Iterable
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, ProtectedError, RestrictedError
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.events.domain.changes import assign
from apps.events.domain.recording import record_event
from apps.ground.attrs import Attrs
from apps.ground.errors import DomainError, TransitionRefused
from apps.ground.locks import locked, reread
from apps.inventory.domain.movements import connect_level
from apps.inventory.domain.stock import lock_items, primary_location, take_off
from apps.inventory.models import InventoryLevel, Location
from apps.shops.domain.countries import complete
from apps.shops.domain.locks import lock_shop
from apps.shops.models import Shop

# Says, in sentences, what stands in the way of a location's deactivation.
Objection = Callable[[Location], Iterable[str]]
_objections: dict[str, Objection] = {}


class StillNeeded(TransitionRefused):
    """Something stands in the way of deactivating the location."""

    code = "location_still_needed"


class LimitReached(DomainError):
    """The shop has as many active locations as it can have."""

    code = "location_limit_reached"


class ServiceLocation(DomainError):
    """The location belongs to a fulfillment service, which alone changes it."""

    code = "service_location"


def objection(name: str, says: Objection) -> None:
    """Register what can stand in the way of deactivating a location, e.g. open fulfillment orders."""
    _objections[name] = says


@transaction.atomic
def open_location(*, actor: str, at: datetime, **fields: object) -> Location:
    """Make an active location; country and province are completed from names or codes.

    Args:
        actor: Who opens it.
        at: When.
        fields: Columns of ``Location``, and ``country`` as a name.

    Raises:
        LimitReached: The shop has as many active locations as it can have.
        UnknownCountry: The country is none.
        ValidationError: A value does not fit its field.
    """
    # Against other changes of which locations are active.
    shop = lock_shop()
    _refuse_beyond_limit()
    location = Location(shop=shop, created_at=at, **_completed(fields))
    location.full_clean()
    location.save()
    if shop.primary_location_id is None and not location.legacy:
        _make_primary(shop, location)
    record_event("locations/create", location, actor=actor, at=at)
    return location


@transaction.atomic
def change_location(
    location: Location, fields: Attrs, *, actor: str, at: datetime, by_service: bool = False
) -> Location:
    """Change a location's name, address or priority.

    Args:
        location: Which; changed in place.
        fields: As for ``open_location``.
        actor: Who.
        at: When.
        by_service: Whether it is the fulfillment service itself that changes its location.

    Raises:
        ServiceLocation: It belongs to a fulfillment service, and the caller is somebody else.
        UnknownCountry: The country is none.
    """
    if location.legacy and not by_service:
        raise ServiceLocation(_("The location belongs to a fulfillment service."))
    reread(location)
    given = dict(fields)
    if given.keys() & {"country", "country_code", "province", "province_code"}:
        if not given.keys() & {"country", "country_code"}:
            given["country_code"] = location.country_code
        given = _completed(given)
    if changes := assign(location, given):
        location.save(update_fields=list(changes))
        record_event("locations/update", location, actor=actor, at=at, changes=changes)
    return location


def objections(location: Location) -> list[str]:
    """What stands in the way of deactivating a location, in sentences for people; nothing if it can be done."""
    found = []
    others = Location.objects.filter(active=True, legacy=False).exclude(pk=location.pk)
    if not location.legacy and not others.exists():
        found.append(_("It is the only active location."))
    stocked = InventoryLevel.objects.filter(location=location).exclude(available=0).count()
    if stocked:
        told = ngettext("Stock is left of {number} item.", "Stock is left of {number} items.", stocked)
        found.append(told.format(number=stocked))
    for says in _objections.values():
        found.extend(says(location))
    return found


@transaction.atomic
def deactivate(location: Location, *, actor: str, at: datetime) -> Location:
    """Deactivate a location: it neither sells, stocks nor fulfills any more.

    Raises:
        StillNeeded: Something stands in the way, or it is inactive already.
    """
    shop = lock_shop()
    # Waits for stock that is being moved here, and lets later movements wait: they lock the row for sharing.
    row = locked(Location, location.pk)
    if not row.active:
        raise StillNeeded(_("The location is not active."))
    if found := objections(row):
        raise StillNeeded({"base": found})
    _set_active(location, active=False)
    if shop.primary_location_id == location.pk:
        heir = Location.objects.filter(active=True, legacy=False).order_by("priority", "id").first()
        _make_primary(shop, heir)
    record_event("locations/deactivate", location, actor=actor, at=at)
    return location


@transaction.atomic
def activate(location: Location, *, actor: str, at: datetime) -> Location:
    """Activate a location.

    Raises:
        LimitReached: The shop has as many active locations as it can have.
        TransitionRefused: It is active already.
    """
    lock_shop()
    if Location.objects.get(pk=location.pk).active:
        raise TransitionRefused(_("The location is active."))
    _refuse_beyond_limit()
    _set_active(location, active=True)
    record_event("locations/activate", location, actor=actor, at=at)
    return location


@transaction.atomic
def close_service_location(location: Location, *, actor: str, at: datetime) -> bool:
    """Give up the location of a fulfillment service that is no more; what is left there leaves the books.

    Items that lay nowhere else are stocked at the primary location from then on.

    Returns:
        Whether the location was removed; one with a history is only deactivated.
    """
    lock_shop()
    levels = InventoryLevel.objects.filter(location=location)
    # All before the first is let go of, whose product would be held while the next one's level is waited for.
    lock_items(levels.values_list("item_id", flat=True))
    list(levels.select_for_update().order_by("item_id").values_list("pk", flat=True))
    elsewhere = InventoryLevel.objects.filter(item_id=OuterRef("item_id")).exclude(location=location)
    alone = list(levels.filter(~Exists(elsewhere)).order_by("item_id").values_list("item_id", flat=True))
    for item_id in alone:
        connect_level(item_id, primary_location().pk, actor=actor, at=at)
    for level in levels.select_related("item").order_by("item_id"):
        take_off(level.item, location, actor=actor, at=at)
    try:
        with transaction.atomic():
            record_event("locations/delete", location, actor=actor, at=at)
            location.delete()
    except (ProtectedError, RestrictedError):
        if Location.objects.get(pk=location.pk).active:
            deactivate(location, actor=actor, at=at)
        return False
    return True


def open_first(shop: Shop, at: datetime) -> None:
    """Give a new shop its first location, at the shop's own address."""
    open_location(
        actor="system",
        at=at,
        name="Shop location",
        address1=shop.address1 or None,
        address2=shop.address2 or None,
        city=shop.city or None,
        zip=shop.zip or None,
        province=shop.province or None,
        province_code=shop.province_code or None,
        country_code=shop.country_code,
        phone=shop.phone or None,
    )


def _completed(fields: Attrs) -> Attrs:
    """Fields with country and province completed."""
    given = dict(fields)
    words = {name: given.pop(name, None) for name in ("country", "country_code", "province", "province_code")}
    region = complete(**words)
    return given | {
        "country_code": region.country.code,
        "province": region.province,
        "province_code": region.province_code,
    }


def _refuse_beyond_limit() -> None:
    if Location.objects.filter(active=True).count() >= settings.LOCATION_LIMIT:
        raise LimitReached(_("The shop already has {limit} active locations.").format(limit=settings.LOCATION_LIMIT))


def _set_active(location: Location, *, active: bool) -> None:
    location.active = active
    location.save(update_fields=["active"])


def _make_primary(shop: Shop, location: Location | None) -> None:
    Shop.objects.filter(pk=shop.pk).update(primary_location_id=location.pk if location else None)
