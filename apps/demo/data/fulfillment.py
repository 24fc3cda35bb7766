"""Demo data for fulfillment: a fulfillment service with its own product, and an order in every state.

The service's callback URL is not reachable until ``manage.py demo_warehouse`` registers a service with the same name.
Until then, no notifications are sent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from apps.catalog.domain import image_files, products
from apps.catalog.domain.inputs import ImageInput, ProductParts, VariantInput
from apps.catalog.models import Variant
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.customers.models import Customer
from apps.demo.data.orders import get_address
from apps.demo.data.product_images import COLORS, draw_product
from apps.demo.warehouse import SCOPES, SERVICE_NAME
from apps.fulfillment.domain import fulfillments, tracking
from apps.fulfillment.domain.fulfillment_orders import requests, routing, transitions
from apps.fulfillment.domain.fulfillments import FulfillmentPart
from apps.fulfillment.domain.services import changes
from apps.fulfillment.domain.services.changes import cancel_notifications
from apps.fulfillment.models import FulfillmentEvent, FulfillmentHold, FulfillmentOrder, FulfillmentService
from apps.inventory.domain import movements
from apps.inventory.domain.movements import StockChange
from apps.inventory.models import StockMovement
from apps.orders.domain.create import orders
from apps.orders.domain.create.drafts import OrderParts
from apps.shops.domain import app_installation

ACTOR = "system"
SKU = "HARBOR-LANTERN"
_STOCK = 40
_UPS = "1Z999AA10123456784"
_EventStatus = FulfillmentEvent.Status
_Reason = FulfillmentHold.Reason
# The tracking events of each kind of shipment: hours after shipping, status and city.
_IN_TRANSIT = (
    (3, _EventStatus.CONFIRMED, ""),
    (9, _EventStatus.CARRIER_PICKED_UP, "Portland"),
    (26, _EventStatus.IN_TRANSIT, "Hartford"),
)
_DELIVERED = (*_IN_TRANSIT, (44, _EventStatus.OUT_FOR_DELIVERY, "New York"), (50, _EventStatus.DELIVERED, "New York"))
_DELIVERY_FAILED = (
    *_IN_TRANSIT,
    (44, _EventStatus.OUT_FOR_DELIVERY, "Albany"),
    (49, _EventStatus.ATTEMPTED_DELIVERY, "Albany"),
)


@dataclass(frozen=True)
class DemoContext:
    """The products and customers that demo orders are created from. The shop ships ``shop_variants`` itself."""

    now: datetime
    shop_variants: Sequence[Variant]
    warehouse_variant: Variant
    customers: Sequence[Customer]

    def create_order(
        self, hours: float, *lines: tuple[Variant, int], is_paid: bool = True, fulfill_at: datetime | None = None
    ) -> FulfillmentOrder:
        """Create an order dated ``hours`` hours ago, and return its first fulfillment order."""
        at = self.hours_ago(hours)
        customer = self.customers[round(hours) % len(self.customers)] if self.customers else None
        address = get_address(customer)
        attrs: Attrs = {"shipping_address": address, "billing_address": address, "source_name": "web"}
        parts = OrderParts(
            lines=[{"variant_id": variant.pk, "quantity": count} for variant, count in lines],
            shipping=[{"title": "Standard", "price": Decimal(5), "code": "standard"}],
            customer={"id": customer.pk} if customer else None,
            financial_status="paid" if is_paid else "pending",
        )
        order = orders.create_order(attrs, parts, actor=ACTOR, at=at)
        return routing.route_order(order.pk, at=at, fulfill_at=fulfill_at)[0]

    def hours_ago(self, hours: float) -> datetime:
        return self.now - timedelta(hours=hours)


def load_demo_fulfillment(shop: Shop, at: datetime) -> None:
    variants = Variant.objects.filter(product__status="active", fulfillment_service="manual").order_by("pk")[:6]
    service = _create_warehouse(shop, at)
    demo = DemoContext(
        at,
        list(variants),
        _create_warehouse_product(service, at),
        list(Customer.objects.select_related("default_address").order_by("pk")[:40]),
    )
    if demo.shop_variants:
        _create_unfulfilled_orders(demo)
        _create_fulfilled_orders(demo)
    _create_warehouse_orders(demo)
    cancel_notifications(service)


def _create_unfulfilled_orders(demo: DemoContext) -> None:
    """Create orders with unfulfilled items: open, late, on hold, scheduled, and partially fulfilled."""
    first, second, third = (demo.shop_variants[number % len(demo.shop_variants)] for number in range(3))
    demo.create_order(3, (first, 1))
    late = demo.create_order(75, (second, 2))
    transitions.set_deadlines(
        FulfillmentOrder.objects.all(), [late.pk], fulfill_by=demo.hours_ago(20), actor=ACTOR, at=demo.hours_ago(75)
    )
    holds = (
        (8, _Reason.AWAITING_PAYMENT, "Bank transfer, announced for this week."),
        (14, _Reason.INCORRECT_ADDRESS, "The house number is missing."),
        (19, _Reason.INVENTORY_OUT_OF_STOCK, ""),
    )
    for hours, reason, notes in holds:
        row = demo.create_order(hours, (third, 1), is_paid=reason != _Reason.AWAITING_PAYMENT)
        transitions.hold_fulfillment_order(row, reason=reason, notes=notes, actor=ACTOR, at=demo.hours_ago(hours - 1))
    demo.create_order(6, (first, 2), fulfill_at=demo.now + timedelta(days=9))
    partial = demo.create_order(30, (first, 3), (second, 1))
    _create_fulfillment(demo, partial, 28, (), lines=[{"id": partial.lines.order_by("pk")[0].pk, "quantity": 2}])


def _create_fulfilled_orders(demo: DemoContext) -> None:
    first, second = demo.shop_variants[0], demo.shop_variants[-1]
    for hours, moves in ((40, _IN_TRANSIT), (75, _DELIVERED), (70, _DELIVERY_FAILED), (100, _DELIVERED)):
        _create_fulfillment(demo, demo.create_order(hours, (first, 2), (second, 1)), hours - 4, moves)


def _create_warehouse_orders(demo: DemoContext) -> None:
    demo.create_order(2, (demo.warehouse_variant, 1))
    _request_from_warehouse(demo, 5, 1)
    accepted = _request_from_warehouse(demo, 26, 2)
    requests.accept_request(accepted, message="Goes out tomorrow.", actor=ACTOR, at=demo.hours_ago(24))
    rejected = _request_from_warehouse(demo, 28, 3)
    requests.reject_request(
        rejected,
        reason="inventory_out_of_stock",
        message="Two only, for now.",
        actor=ACTOR,
        at=demo.hours_ago(23),
    )
    cancelling = _request_from_warehouse(demo, 33, 1)
    requests.accept_request(cancelling, actor=ACTOR, at=demo.hours_ago(31))
    requests.request_cancellation(
        cancelling, message="The buyer changed their mind.", actor=ACTOR, at=demo.hours_ago(22)
    )
    shipped = _request_from_warehouse(demo, 60, 1)
    requests.accept_request(shipped, actor=ACTOR, at=demo.hours_ago(58))
    _create_fulfillment(demo, shipped, 57, _DELIVERED)


def _request_from_warehouse(demo: DemoContext, hours: float, count: int) -> FulfillmentOrder:
    """Create an order for the warehouse and request its fulfillment an hour later."""
    row = demo.create_order(hours, (demo.warehouse_variant, count))
    requests.request_fulfillment(row, message="Please send it with care.", actor=ACTOR, at=demo.hours_ago(hours - 1))
    return row


def _create_fulfillment(
    demo: DemoContext,
    row: FulfillmentOrder,
    hours: float,
    events: Sequence[tuple[int, str, str]],
    lines: Sequence[Attrs] | None = None,
) -> None:
    """Fulfill all or some items of a fulfillment order, dated ``hours`` hours ago, and add tracking events."""
    at = demo.hours_ago(hours)
    fulfillment = fulfillments.create_fulfillment(
        [FulfillmentPart(row, lines)], tracking=tracking.complete_tracking({"number": _UPS}), actor=ACTOR, at=at
    )
    for hours_later, status, town in events:
        happened_at = at + timedelta(hours=hours_later)
        if happened_at <= demo.now:
            attrs = {"status": status, "happened_at": happened_at, "city": town or None}
            tracking.add_event(fulfillment, attrs, actor=ACTOR, at=happened_at)


def _create_warehouse(shop: Shop, at: datetime) -> FulfillmentService:
    """Install the warehouse app and create its service. ``demo_warehouse`` finds the app and the service by name."""
    app = app_installation.create_app(name=SERVICE_NAME)
    app_installation.install_app(app, shop, scopes=SCOPES, actor=ACTOR, at=at)
    attrs: Attrs = {
        "name": SERVICE_NAME,
        "callback_url": "https://warehouse.example/",
        # ``demo_warehouse`` enables both features when its server is running.
        "inventory_management": False,
        "tracking_support": False,
    }
    return changes.create_service(attrs, app=app, actor=ACTOR, at=at)


def _create_warehouse_product(service: FulfillmentService, at: datetime) -> Variant:
    attrs = {
        "title": "Harbor lantern",
        "body_html": "<p>Brass and glass, for a candle or a bulb. Sent from the warehouse.</p>",
        "vendor": "Harbor Works",
        "product_type": "Lamps",
        "status": "active",
        "published_at": at,
    }
    variant = VariantInput(
        attrs={"price": Decimal(48), "grams": 1400, "fulfillment_service": service.handle},
        item={"sku": SKU, "tracked": True, "cost": Decimal(21)},
    )
    data = draw_product("lamp", COLORS["Brass"], "harbor-lantern")
    stored_image = image_files.store_uploaded_image(service.shop_id, data, "harbor-lantern.jpg")
    image = ImageInput(image=stored_image, attrs={"alt": attrs["title"]})
    product = products.create_product(attrs, ProductParts(variants=[variant], images=[image]), actor=ACTOR, at=at)
    variant_row = Variant.objects.get(product=product)
    move = StockChange(variant_row.inventory_item_id, service.location_id, _STOCK)
    movements.apply_stock_changes([move], reason=StockMovement.Reason.RECEIVED, actor=ACTOR, at=at)
    return variant_row
