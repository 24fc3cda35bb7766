"""Fulfillment services: registered, changed, given up; each with a location of its own.

Rule: spec part B, FulfillmentService; decisions, Fulfillment (Services).
"""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.catalog.domain import fulfillers
from apps.catalog.domain.fulfillers import MANUAL
from apps.events.domain.changes import assign
from apps.events.domain.recording import record_event
from apps.fulfillment.domain import moving
from apps.fulfillment.domain.notifying import stop_notifying
from apps.fulfillment.domain.pulling import plan_pulls
from apps.fulfillment.models import FulfillmentService
from apps.ground.attrs import Attrs
from apps.ground.errors import DomainError
from apps.ground.handles import save_with_handle, stem_of
from apps.ground.locks import reread
from apps.ground.phrases import INVALID, NOT_SECURE, TAKEN
from apps.inventory.domain import locations, movements, stock
from apps.inventory.domain.movements import Move
from apps.inventory.models import InventoryLevel, Location, StockMovement
from apps.outgoing.addresses import UrlRefused, vet_url
from apps.shops.domain.locks import lock_shop
from apps.shops.models import App, Installation

# With a slash behind it, it still fits its column.
MAX_CALLBACK = 2047
# What its location shares with a service.
_SHARED = ("name", "permits_sku_sharing")


class InventoryAction(TextChoices):
    """What becomes of the stock of a service that is given up."""

    DELETE = "delete", gettext_lazy("It leaves the books")
    TRANSFER = "transfer", gettext_lazy("It is moved to another location")


class NameTaken(DomainError):
    """The name stands for the shop itself."""

    code = "service_name_taken"
    field = "name"


class CallbackRefused(DomainError):
    """The address is not one that we may call."""

    code = "callback_refused"
    field = "callback_url"


class DestinationRefused(DomainError):
    """What the service leaves behind cannot go there."""

    code = "destination_refused"
    field = "location_id"


@transaction.atomic
def create_service(attrs: Attrs, *, app: App, actor: str, at: datetime) -> FulfillmentService:
    """Register a service, with a location of its name at the shop's country.

    Args:
        attrs: By column.
        app: Whose service it is.
        actor: Who, for the audit trail.
        at: When.

    Raises:
        CallbackRefused: Its address is not one that we may call.
        LimitReached: The shop has as many active locations as it can have.
        NameTaken: Its name stands for the shop itself.
    """
    shop = lock_shop()
    service = FulfillmentService(shop=shop, app=app, created_at=at, **_checked(attrs))
    handle = stem_of(service.name, "service")
    if handle == MANUAL:
        raise NameTaken(TAKEN)
    service.location = locations.open_location(
        actor=actor, at=at, legacy=True, country_code=shop.country_code, **_for_location(service, _SHARED)
    )
    save_with_handle(service, handle)
    plan_pulls(service, at=at)
    record_event("fulfillment_services/create", service, actor=actor, at=at)
    return service


@transaction.atomic
def change_service(service: FulfillmentService, attrs: Attrs, *, actor: str, at: datetime) -> FulfillmentService:
    """Change a service that the caller holds; its location is renamed with it, its handle stays.

    Raises:
        CallbackRefused: Its address is not one that we may call.
    """
    changes = assign(service, _checked(attrs))
    if not changes:
        return service
    service.save(update_fields=list(changes))
    plan_pulls(service, at=at)
    if shared := [name for name in _SHARED if name in changes]:
        given = _for_location(service, shared)
        locations.change_location(service.location, given, actor=actor, at=at, by_service=True)
    record_event("fulfillment_services/update", service, actor=actor, at=at, changes=changes)
    return service


@transaction.atomic
def delete_service(
    service: FulfillmentService,
    *,
    actor: str,
    at: datetime,
    inventory_action: str = InventoryAction.DELETE,
    destination: Location | None = None,
) -> None:
    """Give a service up: its location is removed, or deactivated where it has a history.

    What it was to send, whatever was agreed, is to be sent by the merchant's location that takes over.
    Variants that name it are the merchant's to fulfil from then on.

    Args:
        service: Which.
        actor: Who, for the audit trail.
        at: When.
        inventory_action: What becomes of its stock, a word of ``InventoryAction``.
        destination: The merchant's location that takes over; None for the shop's primary one.

    Raises:
        DestinationRefused: The destination is inactive, or belongs to a service.
        Gone: It was deleted meanwhile.
    """
    lock_shop()
    reread(service)
    heir = destination or stock.primary_location()
    if heir.legacy or not Location.objects.filter(pk=heir.pk, active=True).exists():
        raise DestinationRefused(_("must be an active location of the merchant's"))
    location = service.location
    moving.evacuate(location, heir, actor=actor, at=at)
    stop_notifying(service)
    record_event("fulfillment_services/delete", service, actor=actor, at=at)
    service.delete()
    # The stock before the products, as everybody does.
    _hold_stock(location)
    fulfillers.release(service.handle, actor=actor, at=at)
    if inventory_action == InventoryAction.TRANSFER:
        _transfer(location, heir, service.name, actor=actor, at=at)
    locations.close_service_location(location, actor=actor, at=at)


def remove_with_app(installation: Installation, at: datetime) -> None:
    """Give up the services of an app that leaves; what they were to send is sent from the primary location."""
    for service in FulfillmentService.objects.filter(app=installation.app_id).order_by("pk"):
        delete_service(service, actor="system", at=at)


def handles() -> Iterable[str]:
    """The handles of the current shop's services."""
    return FulfillmentService.objects.values_list("handle", flat=True)


def _checked(attrs: Attrs) -> Attrs:
    """Values with the callback address in the form in which it is kept.

    Raises:
        CallbackRefused: It is not one that we may call.
    """
    if (url := attrs.get("callback_url")) is None:
        return attrs
    try:
        canonical = vet_url(url, schemes=("https",)).url
    except UrlRefused as error:
        raise CallbackRefused(NOT_SECURE if str(error) == "must use https" else str(error)) from error
    # Endpoints are found by adding their names to it.
    if "?" in url or len(canonical) > MAX_CALLBACK:
        raise CallbackRefused(INVALID)
    return {**attrs, "callback_url": f"{canonical.rstrip('/')}/"}


def _for_location(service: FulfillmentService, names: Iterable[str]) -> Attrs:
    return {name: getattr(service, name) for name in names}


def _hold_stock(location: Location) -> None:
    levels = InventoryLevel.objects.filter(location=location).order_by("item_id")
    stock.lock_items(levels.values_list("item_id", flat=True))
    list(levels.select_for_update().values_list("pk", flat=True))


def _transfer(location: Location, heir: Location, name: str, *, actor: str, at: datetime) -> None:
    """Move what lies at a location to another one, oversold items included."""
    lying = InventoryLevel.objects.filter(location=location).exclude(available=0).order_by("item_id")
    moves = [
        Move(item_id, place, delta, may_oversell=True, connect=True)
        for item_id, available in lying.values_list("item_id", "available")
        for place, delta in ((location.pk, -available), (heir.pk, available))
    ]
    movements.apply(moves, reason=StockMovement.Reason.TRANSFER, actor=actor, at=at, reference=name)
