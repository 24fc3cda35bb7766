"""The demo store's sending: a warehouse with a thing that only it has, and an order in each state that there is.

Nobody listens at the warehouse's address until ``manage.py demo_warehouse`` takes its place; what was asked of it waits
for that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from apps.catalog.domain import products
from apps.catalog.domain.inputs import Parts as ProductParts
from apps.catalog.domain.inputs import VariantInput
from apps.catalog.models import Variant
from apps.customers.domain.addresses import COLUMNS
from apps.customers.models import Customer
from apps.fulfillment.domain import fulfilling, requests, routing, services, tracking, transitions
from apps.fulfillment.domain.fulfilling import Part
from apps.fulfillment.domain.notifying import stop_notifying
from apps.fulfillment.models import Fulfillment, FulfillmentEvent, FulfillmentHold, FulfillmentOrder, FulfillmentService
from apps.fulfillment.warehouse import NAME, SCOPES
from apps.ground.attrs import Attrs
from apps.inventory.domain import movements, stock
from apps.inventory.domain.movements import Move
from apps.inventory.models import StockMovement
from apps.orders.domain import placing
from apps.orders.domain.drafting import Parts
from apps.shops.domain import installing
from apps.shops.models import Shop

ACTOR = "system"
SKU = "HARBOR-LANTERN"
_STOCK = 40
_UPS = "1Z999AA10123456784"
_Moved = FulfillmentEvent.Status
_Reason = FulfillmentHold.Reason
# Hours after it was sent, what happened, and in which town.
_ON_ITS_WAY = (
    (3, _Moved.CONFIRMED, ""),
    (9, _Moved.CARRIER_PICKED_UP, "Portland"),
    (26, _Moved.IN_TRANSIT, "Hartford"),
)
_ARRIVED = (*_ON_ITS_WAY, (44, _Moved.OUT_FOR_DELIVERY, "New York"), (50, _Moved.DELIVERED, "New York"))
_TRIED = (*_ON_ITS_WAY, (44, _Moved.OUT_FOR_DELIVERY, "Albany"), (49, _Moved.ATTEMPTED_DELIVERY, "Albany"))


@dataclass(frozen=True)
class Desk:
    """Where the orders of the demo come in.

    Attributes:
        goods: What the shop sends itself.
        lantern: What the warehouse sends.
        buyers: In turn.
    """

    shop: Shop
    now: datetime
    goods: Sequence[Variant]
    lantern: Variant
    buyers: Sequence[Customer]

    def order(
        self, hours: float, *lines: tuple[Variant, int], paid: bool = True, fulfill_at: datetime | None = None
    ) -> FulfillmentOrder:
        """An order of so many hours ago: its fulfillment order, the first where there are several."""
        at = self.ago(hours)
        buyer = self.buyers[round(hours) % len(self.buyers)] if self.buyers else None
        address = _address(buyer)
        attrs: Attrs = {"shipping_address": address, "billing_address": address, "source_name": "web"}
        parts = Parts(
            lines=[{"variant_id": variant.pk, "quantity": count} for variant, count in lines],
            shipping=[{"title": "Standard", "price": Decimal(5), "code": "standard"}],
            customer={"id": buyer.pk} if buyer else None,
            financial_status="paid" if paid else "pending",
        )
        order = placing.create_order(attrs, parts, actor=ACTOR, at=at)
        return routing.route(order.pk, at=at, fulfill_at=fulfill_at)[0]

    def ago(self, hours: float) -> datetime:
        """The moment so many hours ago."""
        return self.now - timedelta(hours=hours)


def make(shop: Shop, at: datetime) -> None:
    """Put the warehouse and the orders into a fresh demo shop, which has goods to sell."""
    goods = Variant.objects.filter(product__status="active", fulfillment_service="manual").order_by("pk")[:6]
    service = _warehouse(shop, at)
    desk = Desk(
        shop,
        at,
        list(goods),
        _stocked(service, at),
        list(Customer.objects.select_related("default_address").order_by("pk")[:40]),
    )
    if desk.goods:
        _to_be_sent(desk)
        _sent(desk)
    _at_the_warehouse(desk)
    stop_notifying(service)


def _to_be_sent(desk: Desk) -> None:
    """Orders on which work is to be done: open, late, on hold for several reasons, for later, begun."""
    first, second, third = desk.goods[0], desk.goods[1 % len(desk.goods)], desk.goods[2 % len(desk.goods)]
    desk.order(3, (first, 1))
    late = desk.order(75, (second, 2))
    transitions.set_deadlines(
        FulfillmentOrder.objects.all(), [late.pk], fulfill_by=desk.ago(20), actor=ACTOR, at=desk.ago(75)
    )
    holds = (
        (8, _Reason.AWAITING_PAYMENT, "Bank transfer, announced for this week."),
        (14, _Reason.INCORRECT_ADDRESS, "The house number is missing."),
        (19, _Reason.INVENTORY_OUT_OF_STOCK, ""),
    )
    for hours, reason, notes in holds:
        row = desk.order(hours, (third, 1), paid=reason != _Reason.AWAITING_PAYMENT)
        transitions.hold(row, reason=reason, notes=notes, actor=ACTOR, at=desk.ago(hours - 1))
    desk.order(6, (first, 2), fulfill_at=desk.now + timedelta(days=9))
    begun = desk.order(30, (first, 3), (second, 1))
    _send(desk, begun, 28, (), lines=[{"id": begun.lines.order_by("pk")[0].pk, "quantity": 2}])


def _sent(desk: Desk) -> None:
    """Parcels on their way, at the door, and not handed over."""
    first, second = desk.goods[0], desk.goods[-1]
    for hours, moves in ((40, _ON_ITS_WAY), (75, _ARRIVED), (70, _TRIED), (100, _ARRIVED)):
        _send(desk, desk.order(hours, (first, 2), (second, 1)), hours - 4, moves)


def _at_the_warehouse(desk: Desk) -> None:
    """What was asked of the warehouse, and what it answered."""
    desk.order(2, (desk.lantern, 1))
    asked = desk.order(5, (desk.lantern, 1))
    _ask(desk, asked, 4)
    accepted = desk.order(26, (desk.lantern, 2))
    _ask(desk, accepted, 25)
    requests.accept_request(accepted, message="Goes out tomorrow.", actor=ACTOR, at=desk.ago(24))
    refused = desk.order(28, (desk.lantern, 3))
    _ask(desk, refused, 27)
    requests.reject_request(
        refused, reason="inventory_out_of_stock", message="Two only, for now.", actor=ACTOR, at=desk.ago(23)
    )
    back = desk.order(33, (desk.lantern, 1))
    _ask(desk, back, 32)
    requests.accept_request(back, actor=ACTOR, at=desk.ago(31))
    requests.request_cancellation(back, message="The buyer changed their mind.", actor=ACTOR, at=desk.ago(22))
    sent = desk.order(60, (desk.lantern, 1))
    _ask(desk, sent, 59)
    requests.accept_request(sent, actor=ACTOR, at=desk.ago(58))
    _send(desk, sent, 57, _ARRIVED)


def _ask(desk: Desk, row: FulfillmentOrder, hours: float) -> None:
    requests.request_fulfillment(row, message="Please send it with care.", actor=ACTOR, at=desk.ago(hours))


def _send(
    desk: Desk,
    row: FulfillmentOrder,
    hours: float,
    moves: Sequence[tuple[int, str, str]],
    lines: Sequence[Attrs] | None = None,
) -> Fulfillment:
    """Send a fulfillment order, or units of it, so many hours ago, and follow the parcel."""
    at = desk.ago(hours)
    sent = fulfilling.create_fulfillment(
        [Part(row, lines)], tracking=tracking.completed({"number": _UPS}), actor=ACTOR, at=at
    )
    for after, status, town in moves:
        moment = at + timedelta(hours=after)
        if moment <= desk.now:
            attrs = {"status": status, "happened_at": moment, "city": town or None}
            tracking.add_event(sent, attrs, actor=ACTOR, at=moment)
    return sent


def _warehouse(shop: Shop, at: datetime) -> FulfillmentService:
    """The app that is the warehouse, and its service; ``demo_warehouse`` finds both by their name."""
    app = installing.create_app(name=NAME)
    installing.install(app, shop, scopes=SCOPES, actor=ACTOR, at=at)
    attrs: Attrs = {
        "name": NAME,
        "callback_url": "https://warehouse.example/",
        # It is asked once somebody is there to answer.
        "inventory_management": False,
        "tracking_support": False,
    }
    return services.create_service(attrs, app=app, actor=ACTOR, at=at)


def _stocked(service: FulfillmentService, at: datetime) -> Variant:
    """A thing that lies at the warehouse and nowhere else."""
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
    made = Variant.objects.select_related("inventory_item").get(product=product)
    stock.connect(made.inventory_item, service.location, actor=ACTOR, at=at)
    stock.disconnect(made.inventory_item, stock.primary_location(), actor=ACTOR, at=at)
    move = Move(made.inventory_item_id, service.location_id, _STOCK)
    movements.apply([move], reason=StockMovement.Reason.RECEIVED, actor=ACTOR, at=at)
    return made


def _address(buyer: Customer | None) -> Attrs | None:
    address = buyer.default_address if buyer else None
    return None if address is None else {name: getattr(address, name) for name in COLUMNS}
