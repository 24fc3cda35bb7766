"""Functions that add rows to each list of the API, in addition to the rows from the samples."""

from collections.abc import Callable
from decimal import Decimal

from django.utils import timezone

from apps.catalog.domain.collections.collects import add_collect
from apps.catalog.domain.inputs import VariantInput
from apps.catalog.domain.variants import create_variant
from apps.catalog.models import CollectionListing, Product, ProductListing
from apps.content.domain import articles
from apps.content.models import Article, MobilePlatformApplication, Policy
from apps.core.events.recording import record_event
from apps.core.types import Attrs
from apps.customers.models import Customer
from apps.discounts.models import PriceRule
from apps.draft_orders.models import DraftOrder
from apps.fulfillment.domain import fulfillments
from apps.fulfillment.domain.fulfillment_orders import transitions
from apps.fulfillment.models import Fulfillment, FulfillmentOrder, FulfillmentService
from apps.inventory.models import Location
from apps.metafields.domain import write as metafields
from apps.orders.domain import payments
from apps.orders.domain.risks import create_risk
from apps.orders.models import Order
from apps.refunds.domain import create
from apps.refunds.domain.validation import RefundRequest, RefundTransactionInput
from apps.shops.domain.storefront_tokens import create_storefront_token
from apps.shops.models import RecurringCharge
from apps.store_imports.models import StoreImport
from apps.webhooks.domain.delivery_tests import send_test_delivery
from apps.webhooks.models import Subscription
from tests.samples import SampleContext
from tests.support.factories import (
    ScriptTagFactory,
    add_deprecated_call,
    make_charge,
    make_credit,
    make_marketing_event,
    make_member,
    make_purchase,
    make_usage,
)
from tests.support.factories.catalog import make_custom, make_image, make_product, make_smart
from tests.support.factories.content import make_blog, make_comment, make_draft, make_page, make_policy, make_redirect
from tests.support.factories.countries import add_province, make_country
from tests.support.factories.customers import make_address, make_customer
from tests.support.factories.discounts import make_code, make_rule
from tests.support.factories.draft_orders import make_draft_order
from tests.support.factories.fulfillment import make_event, make_fulfillment, make_fulfillment_order, make_service
from tests.support.factories.gift_cards import adjust, make_gift_card
from tests.support.factories.inventory import make_item, make_location, set_stock
from tests.support.factories.orders import MUG, make_order
from tests.support.factories.payments import make_handler
from tests.support.factories.store_imports import make_mapped_id, make_store_import
from tests.support.rest.routes import Route
from tests.support.webhooks import make_subscription

Rows = Attrs
Grow = Callable[[SampleContext, Rows, int], object]


def _add_product(world: SampleContext, rows: Rows, number: int) -> Product:
    product = make_product(f"Mug {number}", prices=("1.00", "2.00"))
    for _ in range(2):
        make_image(product)
    return product


def _add_listed_product(world: SampleContext, rows: Rows, number: int) -> Product:
    product = _add_product(world, rows, number)
    ProductListing.objects.create(shop=world.shop, app=world.installation.app, product=product)
    return product


def _add_customer(world: SampleContext, rows: Rows, number: int) -> None:
    customer = make_customer(email=f"one-more-{number}@example.com")
    for street in range(2):
        make_address(customer, address1=f"Storgatan {street}")


def _add_payment(world: SampleContext, rows: Rows, number: int) -> None:
    order = Order.objects.get(pk=rows["order_id"])
    attrs = {"kind": "sale", "amount": Decimal("1.00"), "gateway": "manual"}
    payments.create_transaction(order, attrs, actor="system", at=timezone.now())


def _add_risk(world: SampleContext, rows: Rows, number: int) -> None:
    attrs = {"message": f"Reason {number}", "score": Decimal("0.5"), "recommendation": "accept"}
    order = Order.objects.get(pk=rows["order_id"])
    create_risk(order, attrs, app=world.installation.app, actor="system", at=timezone.now())


def _add_event(world: SampleContext, topic: str, subject: Order | Product | DraftOrder) -> None:
    record_event(topic, subject, actor=f"app:{world.installation.app_id}", at=timezone.now())


def _add_variant(world: SampleContext, rows: Rows, number: int) -> None:
    variant_input = VariantInput(attrs={"option1": f"Size {number}", "price": "3.00"})
    create_variant(rows["product_id"], variant_input, actor="system", at=timezone.now())


def _add_item(world: SampleContext, rows: Rows, number: int) -> None:
    item = make_item(world.shop, sku=f"MUG-{number}")
    for name in rows.keys() & {"id", "inventory_item_id"}:
        rows[name] = f"{rows[name]},{item.pk}"


def _add_article(world: SampleContext, rows: Rows, number: int) -> None:
    attrs = {"title": f"Hello {number}", "tags": "a, b"}
    articles.create_article(rows["blog_id"], attrs, actor="system", at=timezone.now())


def _fulfill_again(order_id: int) -> None:
    last = Fulfillment.objects.filter(order=order_id, status="success").get()
    fulfillments.cancel_fulfillment(last, actor="system", at=timezone.now())
    make_fulfillment(FulfillmentOrder.objects.get(order=order_id, status="open"))


def _add_fulfillment(world: SampleContext, rows: Rows, number: int) -> None:
    row = FulfillmentOrder.objects.get(pk=rows["fulfillment_order_id"])
    fulfillment_line = row.sent_lines.select_related("fulfillment").order_by("pk").first()
    assert fulfillment_line is not None
    parcel = fulfillment_line.fulfillment
    parcel.pk, parcel.number, parcel.name = None, number + 100, f"#1.{number}"
    parcel.save(force_insert=True)
    fulfillment_line.pk, fulfillment_line.fulfillment = None, parcel
    fulfillment_line.save(force_insert=True)


def _add_collected_product(world: SampleContext, rows: Rows, number: int) -> None:
    product = _add_product(world, rows, number)
    add_collect(
        collection_id=rows["collection_id"], product_id=product.pk, position=None, actor="system", at=timezone.now()
    )


def _add_refund(world: SampleContext, rows: Rows, number: int) -> None:
    request = RefundRequest(transaction_inputs=[RefundTransactionInput(Decimal("0.01"))], shipping=Decimal("0.01"))
    create.create_refund(Order.objects.get(pk=rows["order_id"]), request, actor="system", at=timezone.now())


def _add_mapped_id(world: SampleContext, rows: Rows, number: int) -> None:
    row = StoreImport.objects.get(pk=rows["store_import_id"])
    make_mapped_id(row, "order", number + 1, number + 1)


GROWTH: dict[str, Grow] = {
    "products.json": _add_product,
    "products/<product_id>/variants.json": _add_variant,
    "products/<product_id>/images.json": lambda world, rows, number: make_image(
        Product.objects.get(pk=rows["product_id"])
    ),
    "products/<product_id>/events.json": lambda world, rows, number: _add_event(
        world, "products/update", Product.objects.get(pk=rows["product_id"])
    ),
    "custom_collections.json": lambda world, rows, number: make_custom(f"Kitchen {number}", make_product()),
    "smart_collections.json": lambda world, rows, number: make_smart(f"Cheap {number}", ("title", "contains", "x")),
    "collections/<collection_id>/products.json": _add_collected_product,
    "smart_collections/<collection_id>/products.json": lambda world, rows, number: make_product(
        f"Cheap {number}", prices=("1.00",)
    ),
    "collects.json": lambda world, rows, number: make_custom(f"Kitchen {number}", make_product()),
    "application_charges.json": lambda world, rows, number: make_purchase(world.installation, name=f"Import {number}"),
    "application_credits.json": lambda world, rows, number: make_credit(world.installation),
    "recurring_application_charges.json": lambda world, rows, number: make_charge(world.installation),
    "recurring_application_charges/<recurring_charge_id>/usage_charges.json": lambda world, rows, number: make_usage(
        RecurringCharge.objects.get(pk=rows["recurring_charge_id"])
    ),
    "deprecated_api_calls.json": lambda world, rows, number: add_deprecated_call(
        world.installation, f"path{number}.json"
    ),
    "marketing_events.json": lambda world, rows, number: make_marketing_event(world.installation),
    "storefront_access_tokens.json": lambda world, rows, number: create_storefront_token(
        world.installation, f"Phone {number}", actor="system", at=timezone.now()
    ),
    "product_listings.json": _add_listed_product,
    "product_listings/product_ids.json": _add_listed_product,
    "collection_listings.json": lambda world, rows, number: CollectionListing.objects.create(
        shop=world.shop, app=world.installation.app, collection=make_custom(f"Kitchen {number}")
    ),
    "collection_listings/<collection_id>/product_ids.json": lambda world, rows, number: add_collect(
        collection_id=rows["collection_id"],
        product_id=_add_listed_product(world, rows, number).pk,
        position=None,
        actor="system",
        at=timezone.now(),
    ),
    "locations.json": lambda world, rows, number: make_location(world.shop, name=f"Depot {number}"),
    "locations/<location_id>/inventory_levels.json": lambda world, rows, number: set_stock(
        make_item(world.shop, sku=f"MUG-{number}"), Location.objects.get(pk=rows["location_id"]), number
    ),
    "inventory_items.json": _add_item,
    "inventory_levels.json": _add_item,
    "script_tags.json": lambda world, rows, number: ScriptTagFactory.create(
        shop=world.shop, app=world.installation.app
    ),
    "webhooks/<subscription_id>/deliveries.json": lambda world, rows, number: send_test_delivery(
        Subscription.objects.get(pk=rows["subscription_id"]), shop_id=world.shop.pk, at=timezone.now()
    ),
    "webhooks.json": lambda world, rows, number: make_subscription(
        world.installation, f"https://app.example/{number}", topic="products/update"
    ),
    "blogs.json": lambda world, rows, number: make_blog(),
    "blogs/<blog_id>/articles.json": _add_article,
    "pages.json": lambda world, rows, number: make_page(title=f"Page {number}"),
    "redirects.json": lambda world, rows, number: make_redirect(),
    "comments.json": lambda world, rows, number: make_comment(Article.objects.get(pk=rows["article_id"])),
    "policies.json": lambda world, rows, number: make_policy(Policy.Handle.values[number + 1]),
    "themes.json": lambda world, rows, number: make_draft(),
    "mobile_platform_applications.json": lambda world, rows, number: MobilePlatformApplication.objects.create(
        shop=world.shop, platform="ios", application_id=f"X1Y2.more-{number}"
    ),
    "countries.json": lambda world, rows, number: make_country(),
    "countries/<country_id>/provinces.json": lambda world, rows, number: add_province(rows["country_id"], f"X{number}"),
    "draft_orders.json": lambda world, rows, number: make_draft_order(),
    "gift_cards.json": lambda world, rows, number: make_gift_card(),
    "gift_cards/search.json": lambda world, rows, number: make_gift_card(),
    "gift_cards/<card_id>/adjustments.json": lambda world, rows, number: adjust(rows["card_id"]),
    "price_rules.json": lambda world, rows, number: make_rule(),
    "price_rules/<rule_id>/discount_codes.json": lambda world, rows, number: make_code(
        f"MORE{number}", PriceRule.objects.get(pk=rows["rule_id"])
    ),
    "payment_handlers.json": lambda world, rows, number: make_handler(
        handler_id=f"more-{number}", config={"shop_id": f"more-{number}"}, enabled=False
    ),
    "fulfillment_services.json": lambda world, rows, number: make_service(world.installation.app),
    "customers.json": _add_customer,
    "customers/search.json": _add_customer,
    "customers/<customer_id>/addresses.json": lambda world, rows, number: make_address(
        Customer.objects.get(pk=rows["customer_id"]), address1=f"Nygatan {number}"
    ),
    "customers/<customer_id>/orders.json": lambda world, rows, number: make_order(
        customer={"id": rows["customer_id"]}, lines=[MUG] * 3
    ),
    "orders.json": lambda world, rows, number: make_order(email=f"one-more-{number}@example.com", lines=[MUG] * 3),
    "orders/<order_id>/transactions.json": _add_payment,
    "orders/<order_id>/risks.json": _add_risk,
    "tender_transactions.json": lambda world, rows, number: make_order(
        transactions=[{"kind": "sale", "amount": Decimal("20.00")}]
    ),
    "orders/<order_id>/fulfillment_orders.json": lambda world, rows, number: transitions.cancel_fulfillment_order(
        FulfillmentOrder.objects.get(order=rows["order_id"], status="open"), actor="system", at=timezone.now()
    ),
    "assigned_fulfillment_orders.json": lambda world, rows, number: make_fulfillment_order(
        FulfillmentService.objects.get(), lines=[MUG] * 2
    ),
    "orders/<order_id>/fulfillments.json": lambda world, rows, number: _fulfill_again(rows["order_id"]),
    "fulfillment_orders/<fulfillment_order_id>/fulfillments.json": _add_fulfillment,
    "orders/<order_id>/fulfillments/<fulfillment_id>/events.json": lambda world, rows, number: make_event(
        Fulfillment.objects.get(pk=rows["fulfillment_id"])
    ),
    "draft_orders/<draftorder_id>/events.json": lambda world, rows, number: _add_event(
        world, "draft_orders/update", DraftOrder.objects.get(pk=rows["draftorder_id"])
    ),
    "orders/<order_id>/events.json": lambda world, rows, number: _add_event(
        world, "orders/updated", Order.objects.get(pk=rows["order_id"])
    ),
    "orders/<order_id>/refunds.json": _add_refund,
    "events.json": lambda world, rows, number: make_order(email=f"one-more-{number}@example.com", lines=[MUG] * 3),
    "users.json": lambda world, rows, number: make_member(world.shop, "orders"),
    "store_imports.json": lambda world, rows, number: make_store_import(world.shop, number + 1),
    "store_imports/<store_import_id>/mapped_ids.json": _add_mapped_id,
}

# Lists with a fixed length.
FIXED = {
    "/admin/oauth/access_scopes.json",
    "currencies.json",
    "payment_gateways.json",
    "products/<product_id>/resource_feedback.json",
    "resource_feedback.json",
    "shipping_zones.json",
}


# Queries for lists if the sample's query matches only one row.
QUERIES = {"customers/search.json": {"query": "example"}}


def get_grow_function(route: Route) -> Grow:
    """Return the function that adds rows to a list. A list that is not in the table raises a KeyError."""
    pattern = route.name.removeprefix("GET ")
    if not pattern.endswith("metafields.json"):
        return GROWTH[pattern]
    owners = route.view.parents

    def grow(world: SampleContext, rows: Rows, number: int) -> None:
        owner = owners["owner_id"].objects.get(pk=rows["owner_id"]) if owners else world.shop
        row = {"namespace": "care", "key": f"wash_{number}", "value": "Cold", "type": "single_line_text_field"}
        metafields.set_metafields(owner, [row], actor="system", at=timezone.now())

    return grow
