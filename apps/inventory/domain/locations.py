"""Create, update, activate, deactivate and delete locations."""

from collections.abc import Callable, Iterable
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, ProtectedError, RestrictedError
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.core.db.row_locks import get_for_update, refresh_for_update
from apps.core.events.recording import EventInput, apply_changes, record_event, record_secondary_events
from apps.core.exceptions import DomainError, TransitionRefused
from apps.core.registry import Registry
from apps.core.tenancy.models import Shop
from apps.core.tenancy.shops import lock_shop
from apps.core.types import Attrs
from apps.inventory.domain.movements import get_or_create_level
from apps.inventory.domain.stock import get_primary_location, lock_items, remove_from_location
from apps.inventory.models import InventoryLevel, Location
from apps.shops.domain.countries import complete_region

# A function that yields the reasons why a location cannot be deactivated. Each reason is a sentence.
ObjectionSource = Callable[[Location], Iterable[str]]
deactivation_objections = Registry[str, ObjectionSource]("objections to deactivating a location")


class LocationInUse(TransitionRefused):
    pass


class LocationLimitReached(DomainError):
    pass


class ServiceLocation(DomainError):
    """Raised when staff or an app may not change the location of a fulfillment service."""


@transaction.atomic
def create_location(*, actor: str, at: datetime, **fields: object) -> Location:
    """Create an active location. ``fields`` are columns of ``Location``, and optionally ``country`` as a name."""
    # Lock the shop, so that no concurrent request changes the number of active locations.
    shop = lock_shop()
    _check_location_limit()
    location = Location(shop=shop, created_at=at, **_complete_region(fields))
    location.full_clean()
    location.save()
    if shop.primary_location_id is None and not location.legacy:
        _make_primary(shop, location, actor=actor, at=at)
    record_event("locations/create", location, actor=actor, at=at)
    return location


@transaction.atomic
def update_location(
    location: Location, fields: Attrs, *, actor: str, at: datetime, by_service: bool = False
) -> Location:
    """Update a location's name, address or priority. Only the location's own service may set ``by_service``."""
    if location.legacy and not by_service:
        raise ServiceLocation(_("The location belongs to a fulfillment service."))
    refresh_for_update(location)
    values = dict(fields)
    if values.keys() & {"country", "country_code", "province", "province_code"}:
        if not values.keys() & {"country", "country_code"}:
            values["country_code"] = location.country_code
        values = _complete_region(values)
    if changes := apply_changes(location, values):
        location.save(update_fields=list(changes))
        record_event("locations/update", location, actor=actor, at=at, changes=changes)
    return location


def get_deactivation_objections(location: Location) -> list[str]:
    """Return the reasons why a location cannot be deactivated. Each reason is a sentence."""
    reasons = []
    other_locations = Location.objects.filter(active=True, legacy=False).exclude(pk=location.pk)
    if not location.legacy and not other_locations.exists():
        reasons.append(_("This is the only active location."))
    stocked = InventoryLevel.objects.filter(location=location).exclude(available=0).count()
    if stocked:
        text = ngettext("{number} item still has stock here.", "{number} items still have stock here.", stocked)
        reasons.append(text.format(number=stocked))
    for source in deactivation_objections.values():
        reasons.extend(source(location))
    return reasons


@transaction.atomic
def deactivate_location(location: Location, *, actor: str, at: datetime) -> Location:
    """Deactivate a location. An inactive location cannot sell, stock or fulfill items."""
    shop = lock_shop()
    # Wait for running inventory changes at this location, and block later changes, which need a shared lock on the row.
    row = get_for_update(Location, location.pk)
    if not row.active:
        raise LocationInUse(_("The location is already inactive."))
    if reasons := get_deactivation_objections(row):
        raise LocationInUse({"base": reasons})
    _set_active(location, active=False)
    if shop.primary_location_id == location.pk:
        successor = Location.objects.filter(active=True, legacy=False).order_by("priority", "id").first()
        _make_primary(shop, successor, actor=actor, at=at)
    record_event("locations/deactivate", location, actor=actor, at=at)
    record_secondary_events([EventInput("locations/update", location)], actor=actor, at=at)
    return location


@transaction.atomic
def activate_location(location: Location, *, actor: str, at: datetime) -> Location:
    lock_shop()
    if Location.objects.get(pk=location.pk).active:
        raise TransitionRefused(_("The location is already active."))
    _check_location_limit()
    _set_active(location, active=True)
    record_event("locations/activate", location, actor=actor, at=at)
    record_secondary_events([EventInput("locations/update", location)], actor=actor, at=at)
    return location


@transaction.atomic
def close_service_location(location: Location, *, actor: str, at: datetime) -> bool:
    """Close the location of a deleted fulfillment service and remove its stock.

    If no other location stocks an item, the item is connected to the primary location. Return False if the location was
    only deactivated, because other rows refer to it.
    """
    lock_shop()
    levels = InventoryLevel.objects.filter(location=location)
    # Lock all levels first. Removing a level also locks the product, and waiting for another level while the product
    # is locked could cause a deadlock.
    lock_items(levels.values_list("item_id", flat=True))
    list(levels.select_for_update().order_by("item_id").values_list("pk", flat=True))
    elsewhere = InventoryLevel.objects.filter(item_id=OuterRef("item_id")).exclude(location=location)
    alone = list(levels.filter(~Exists(elsewhere)).order_by("item_id").values_list("item_id", flat=True))
    for item_id in alone:
        get_or_create_level(item_id, get_primary_location().pk, actor=actor, at=at)
    for level in levels.select_related("item").order_by("item_id"):
        remove_from_location(level.item, location, actor=actor, at=at)
    try:
        with transaction.atomic():
            record_event("locations/delete", location, actor=actor, at=at)
            location.delete()
    except (ProtectedError, RestrictedError):
        if Location.objects.get(pk=location.pk).active:
            deactivate_location(location, actor=actor, at=at)
        return False
    return True


def create_first_location(shop: Shop, at: datetime) -> None:
    create_location(
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


def _complete_region(fields: Attrs) -> Attrs:
    values = dict(fields)
    names = {name: values.pop(name, None) for name in ("country", "country_code", "province", "province_code")}
    region = complete_region(**names)
    return values | {
        "country_code": region.country.code,
        "province": region.province,
        "province_code": region.province_code,
    }


def _check_location_limit() -> None:
    if Location.objects.filter(active=True).count() >= settings.LOCATION_LIMIT:
        raise LocationLimitReached(
            _("The shop already has {limit} active locations.").format(limit=settings.LOCATION_LIMIT)
        )


def _set_active(location: Location, *, active: bool) -> None:
    location.active = active
    location.save(update_fields=["active"])


def _make_primary(shop: Shop, location: Location | None, *, actor: str, at: datetime) -> None:
    Shop.objects.filter(pk=shop.pk).update(primary_location_id=location.pk if location else None)
    record_secondary_events([EventInput("shop/update", shop)], actor=actor, at=at)
