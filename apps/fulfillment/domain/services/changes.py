"""Create, change, delete and notify fulfillment services. Each service has its own location."""

from datetime import datetime

from django.db import transaction
from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.catalog.domain import fulfillment_service_choices
from apps.catalog.domain.fulfillment_service_choices import MANUAL
from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import apply_changes, record_event
from apps.core.exceptions import DomainError
from apps.core.handles import build_handle_stem, save_with_handle
from apps.core.http.ssrf_guard import UrlRefused, check_url
from apps.core.i18n.error_messages import INVALID, NOT_SECURE, TAKEN
from apps.core.tenancy.models import App, Installation
from apps.core.tenancy.shops import lock_shop
from apps.core.types import Attrs
from apps.fulfillment.domain.fulfillment_orders import moves as location_moves
from apps.fulfillment.domain.services.polling import plan_pulls
from apps.fulfillment.models import FulfillmentService, MerchantRequest
from apps.inventory.domain import locations, movements, stock
from apps.inventory.domain.movements import StockChange
from apps.inventory.models import InventoryLevel, Location, StockMovement
from apps.shops.domain.app_installation import lock_active
from apps.webhooks.domain import app_callbacks
from apps.webhooks.models import Delivery

# Services are notified about new requests at this path of their callback URL, and then read their fulfillment orders.
PATH = "fulfillment_order_notification"
# The maximum length of a callback URL without the trailing slash. The column is one character longer.
MAX_CALLBACK = 2047
# The fields that are copied from a service to its location.
_SHARED = ("name", "permits_sku_sharing")


def notify_service(service: FulfillmentService, kind: MerchantRequest.Kind, *, at: datetime) -> Delivery:
    """Notify a service about a request, after the current transaction commits."""
    return app_callbacks.send_call(_get_url(service), {"kind": kind.value.upper()}, topic=PATH, app=service.app, at=at)


def get_recent_notifications(service: FulfillmentService, *, most: int) -> list[Delivery]:
    return app_callbacks.get_recent_calls(_get_url(service), limit=most)


def cancel_notifications(service: FulfillmentService) -> None:
    app_callbacks.cancel_calls(_get_url(service))


def _get_url(service: FulfillmentService) -> str:
    return f"{service.callback_url}{PATH}"


class InventoryAction(TextChoices):
    DELETE = "delete", gettext_lazy("Delete the inventory")
    TRANSFER = "transfer", gettext_lazy("Move the inventory to another location")


class ServiceNameTaken(DomainError):
    field = "name"


class CallbackRefused(DomainError):
    field = "callback_url"


class DestinationRefused(DomainError):
    """Raised when the destination can't take over inventory or fulfillment orders."""

    field = "location_id"


@transaction.atomic
def create_service(attrs: Attrs, *, app: App, actor: str, at: datetime) -> FulfillmentService:
    """Create a service, and a location of the same name in the shop's country.

    Raises:
        NotInstalled: The app was uninstalled in the meantime.
    """
    lock_active(app.pk)
    shop = lock_shop()
    service = FulfillmentService(shop=shop, app=app, created_at=at, **_normalize(attrs))
    handle = build_handle_stem(service.name, "service")
    if handle == MANUAL:
        raise ServiceNameTaken(TAKEN)
    service.location = locations.create_location(
        actor=actor,
        at=at,
        legacy=True,
        country_code=shop.country_code,
        name=service.name,
        permits_sku_sharing=service.permits_sku_sharing,
    )
    save_with_handle(service, handle)
    plan_pulls(service, at=at)
    record_event("fulfillment_services/create", service, actor=actor, at=at)
    return service


@transaction.atomic
def change_service(service: FulfillmentService, attrs: Attrs, *, actor: str, at: datetime) -> FulfillmentService:
    """Change a locked service and rename its location. The service's handle does not change."""
    changes = apply_changes(service, _normalize(attrs))
    if not changes:
        return service
    service.save(update_fields=list(changes))
    plan_pulls(service, at=at)
    if shared := [name for name in _SHARED if name in changes]:
        location_attrs = {name: getattr(service, name) for name in shared}
        locations.update_location(service.location, location_attrs, actor=actor, at=at, by_service=True)
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
    """Delete a service and its location. A location with a history is only deactivated.

    Unfinished fulfillment orders move to ``destination``, by default the primary location, even if the service has
    accepted them. Afterwards, the shop itself fulfills the service's variants.
    """
    lock_shop()
    refresh_for_update(service)
    new_location = destination or stock.get_primary_location()
    if new_location.legacy or not Location.objects.filter(pk=new_location.pk, active=True).exists():
        raise DestinationRefused(_("must be an active location of the shop"))
    location = service.location
    location_moves.move_all_work(location, new_location, actor=actor, at=at)
    cancel_notifications(service)
    record_event("fulfillment_services/delete", service, actor=actor, at=at)
    service.delete()
    # Lock stock before products, in the same order as all other functions, to avoid deadlocks.
    _lock_stock(location)
    fulfillment_service_choices.reset_fulfillment_service(service.handle, actor=actor, at=at)
    if inventory_action == InventoryAction.TRANSFER:
        _transfer_stock(location, new_location, service.name, actor=actor, at=at)
    locations.close_service_location(location, actor=actor, at=at)


def delete_services_of_app(installation: Installation, at: datetime) -> None:
    """Delete the services of an uninstalled app. The primary location takes over the fulfillment orders."""
    for service in FulfillmentService.objects.filter(app=installation.app_id).order_by("pk"):
        delete_service(service, actor="system", at=at)


def get_service_locations() -> dict[str, int]:
    return dict(FulfillmentService.objects.values_list("handle", "location_id"))


def _normalize(attrs: Attrs) -> Attrs:
    """Return the values with a normalized callback URL."""
    if (url := attrs.get("callback_url")) is None:
        return attrs
    try:
        canonical = check_url(url, schemes=("https",)).url
    except UrlRefused as error:
        raise CallbackRefused(NOT_SECURE if str(error) == "must use https" else str(error)) from error
    # Endpoint names are appended to the URL, so the URL can't have a query string.
    if "?" in url or len(canonical) > MAX_CALLBACK:
        raise CallbackRefused(INVALID)
    return {**attrs, "callback_url": f"{canonical.rstrip('/')}/"}


def _lock_stock(location: Location) -> None:
    levels = InventoryLevel.objects.filter(location=location).order_by("item_id")
    stock.lock_items(levels.values_list("item_id", flat=True))
    list(levels.select_for_update().values_list("pk", flat=True))


def _transfer_stock(location: Location, new_location: Location, name: str, *, actor: str, at: datetime) -> None:
    """Move all stock from a location to a new location, including negative quantities."""
    levels = InventoryLevel.objects.filter(location=location).exclude(available=0).order_by("item_id")
    moves = [
        StockChange(item_id, location_id, delta, may_oversell=True, connect=True)
        for item_id, available in levels.values_list("item_id", "available")
        for location_id, delta in ((location.pk, -available), (new_location.pk, available))
    ]
    movements.apply_stock_changes(moves, reason=StockMovement.Reason.TRANSFER, actor=actor, at=at, reference=name)
