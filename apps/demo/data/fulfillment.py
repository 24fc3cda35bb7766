"""Demo data for fulfillment: a fulfillment service with its own product, and an order in every state.

The service's callback URL is not reachable until ``manage.py demo_warehouse`` registers a service with the same name.
Until then, no notifications are sent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from apps.catalog.domain import products
from apps.catalog.domain.inputs import ProductParts, VariantInput
from apps.catalog.models import Variant
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.customers.domain.addresses import COLUMNS
from apps.customers.models import Customer
from apps.demo.warehouse import SCOPES, SERVICE_NAME
from apps.fulfillment.domain import fulfillments, tracking
from apps.fulfillment.domain.fulfillment_orders import requests, routing, transitions
from apps.fulfillment.domain.fulfillments import FulfillmentPart
from apps.fulfillment.domain.services import changes
from apps.fulfillment.domain.services.changes import cancel_notifications
from apps.fulfillment.models import Fulfillment, FulfillmentEvent, FulfillmentHold, FulfillmentOrder, FulfillmentService
from apps.inventory.domain import movements, stock
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
    """The shop, products and customers that demo orders are created from.

    Attributes:
        shop_variants: The variants that the shop ships itself.
        warehouse_variant: The variant that the warehouse ships.
        customers: The customers of the orders.
    """

    shop: Shop
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
        address = _get_address(customer)
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
    """Create the demo warehouse and demo orders in a new demo shop that already has products."""
    variants = Variant.objects.filter(product__status="active", fulfillment_service="manual").order_by("pk")[:6]
    service = _create_warehouse(shop, at)
    demo_context = DemoContext(
        shop,
        at,
        list(variants),
        _create_warehouse_product(service, at),
        list(Customer.objects.select_related("default_address").order_by("pk")[:40]),
    )
    if demo_context.shop_variants:
        _create_unfulfilled_orders(demo_context)
        _create_fulfilled_orders(demo_context)
    _create_warehouse_orders(demo_context)
    cancel_notifications(service)


def _create_unfulfilled_orders(demo_context: DemoContext) -> None:
    """Create orders with unfulfilled items: open, late, on hold, scheduled, and partially fulfilled."""
    first, second, third = (
        demo_context.shop_variants[0],
        demo_context.shop_variants[1 % len(demo_context.shop_variants)],
        demo_context.shop_variants[2 % len(demo_context.shop_variants)],
    )
    demo_context.create_order(3, (first, 1))
    late = demo_context.create_order(75, (second, 2))
    transitions.set_deadlines(
        FulfillmentOrder.objects.all(),
        [late.pk],
        fulfill_by=demo_context.hours_ago(20),
        actor=ACTOR,
        at=demo_context.hours_ago(75),
    )
    holds = (
        (8, _Reason.AWAITING_PAYMENT, "Bank transfer, announced for this week."),
        (14, _Reason.INCORRECT_ADDRESS, "The house number is missing."),
        (19, _Reason.INVENTORY_OUT_OF_STOCK, ""),
    )
    for hours, reason, notes in holds:
        row = demo_context.create_order(hours, (third, 1), is_paid=reason != _Reason.AWAITING_PAYMENT)
        transitions.hold_fulfillment_order(
            row, reason=reason, notes=notes, actor=ACTOR, at=demo_context.hours_ago(hours - 1)
        )
    demo_context.create_order(6, (first, 2), fulfill_at=demo_context.now + timedelta(days=9))
    partial = demo_context.create_order(30, (first, 3), (second, 1))
    _create_fulfillment(
        demo_context, partial, 28, (), lines=[{"id": partial.lines.order_by("pk")[0].pk, "quantity": 2}]
    )


def _create_fulfilled_orders(demo_context: DemoContext) -> None:
    """Create fulfillments that are in transit, that were delivered, or that had a failed delivery attempt."""
    first, second = demo_context.shop_variants[0], demo_context.shop_variants[-1]
    for hours, moves in ((40, _IN_TRANSIT), (75, _DELIVERED), (70, _DELIVERY_FAILED), (100, _DELIVERED)):
        _create_fulfillment(demo_context, demo_context.create_order(hours, (first, 2), (second, 1)), hours - 4, moves)


def _create_warehouse_orders(demo_context: DemoContext) -> None:
    """Create fulfillment orders at the warehouse in each request status."""
    demo_context.create_order(2, (demo_context.warehouse_variant, 1))
    requested = demo_context.create_order(5, (demo_context.warehouse_variant, 1))
    _request_fulfillment(demo_context, requested, 4)
    accepted = demo_context.create_order(26, (demo_context.warehouse_variant, 2))
    _request_fulfillment(demo_context, accepted, 25)
    requests.accept_request(accepted, message="Goes out tomorrow.", actor=ACTOR, at=demo_context.hours_ago(24))
    rejected = demo_context.create_order(28, (demo_context.warehouse_variant, 3))
    _request_fulfillment(demo_context, rejected, 27)
    requests.reject_request(
        rejected,
        reason="inventory_out_of_stock",
        message="Two only, for now.",
        actor=ACTOR,
        at=demo_context.hours_ago(23),
    )
    cancelling = demo_context.create_order(33, (demo_context.warehouse_variant, 1))
    _request_fulfillment(demo_context, cancelling, 32)
    requests.accept_request(cancelling, actor=ACTOR, at=demo_context.hours_ago(31))
    requests.request_cancellation(
        cancelling, message="The buyer changed their mind.", actor=ACTOR, at=demo_context.hours_ago(22)
    )
    shipped = demo_context.create_order(60, (demo_context.warehouse_variant, 1))
    _request_fulfillment(demo_context, shipped, 59)
    requests.accept_request(shipped, actor=ACTOR, at=demo_context.hours_ago(58))
    _create_fulfillment(demo_context, shipped, 57, _DELIVERED)


def _request_fulfillment(demo_context: DemoContext, row: FulfillmentOrder, hours: float) -> None:
    requests.request_fulfillment(
        row, message="Please send it with care.", actor=ACTOR, at=demo_context.hours_ago(hours)
    )


def _create_fulfillment(
    demo_context: DemoContext,
    row: FulfillmentOrder,
    hours: float,
    events: Sequence[tuple[int, str, str]],
    lines: Sequence[Attrs] | None = None,
) -> Fulfillment:
    """Fulfill all or some items of a fulfillment order, dated ``hours`` hours ago, and add tracking events."""
    at = demo_context.hours_ago(hours)
    fulfillment = fulfillments.create_fulfillment(
        [FulfillmentPart(row, lines)], tracking=tracking.complete_tracking({"number": _UPS}), actor=ACTOR, at=at
    )
    for hours_later, status, town in events:
        happened_at = at + timedelta(hours=hours_later)
        if happened_at <= demo_context.now:
            attrs = {"status": status, "happened_at": happened_at, "city": town or None}
            tracking.add_event(fulfillment, attrs, actor=ACTOR, at=happened_at)
    return fulfillment


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
    """Create the product that only the warehouse stocks."""
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
    product = products.create_product(attrs, ProductParts(variants=[variant]), actor=ACTOR, at=at)
    variant_row = Variant.objects.select_related("inventory_item").get(product=product)
    stock.connect_item(variant_row.inventory_item, service.location, actor=ACTOR, at=at)
    stock.disconnect_item(variant_row.inventory_item, stock.get_primary_location(), actor=ACTOR, at=at)
    move = StockChange(variant_row.inventory_item_id, service.location_id, _STOCK)
    movements.apply_stock_changes([move], reason=StockMovement.Reason.RECEIVED, actor=ACTOR, at=at)
    return variant_row


def _get_address(customer: Customer | None) -> Attrs | None:
    address = customer.default_address if customer else None
    return None if address is None else {name: getattr(address, name) for name in COLUMNS}
