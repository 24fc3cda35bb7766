"""How each list of the interface gets longer: what its sample arranged, and further rows beside it."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django.utils import timezone

from apps.catalog.domain.collections.collects import add_collect
from apps.catalog.domain.inputs import VariantInput
from apps.catalog.domain.variants import create_variant
from apps.catalog.models import Product, ProductImage
from apps.content.domain import articles, themes
from apps.content.models import MobilePlatformApplication, Theme
from apps.customers.models import Customer
from apps.events.domain.recording import record_event
from apps.inventory.models import Location
from apps.metafields.domain import setting as metafields
from apps.orders.domain import payments
from apps.orders.models import Order
from tests.api.routes import Route
from tests.catalog.factories import make_custom, make_image, make_product, make_smart
from tests.content.factories import make_blog
from tests.customers.factories import make_address, make_customer
from tests.factories import ScriptTagFactory
from tests.inventory.factories import make_item, make_location, put
from tests.orders.factories import MUG, make_order
from tests.samples import World

Rows = dict[str, Any]
Grow = Callable[[World, Rows, int], Any]


def _product(world: World, rows: Rows, number: int) -> Product:
    product = make_product(f"Mug {number}", prices=("1.00", "2.00"))
    for _ in range(2):
        make_image(product)
    return product


def _customer(world: World, rows: Rows, number: int) -> None:
    customer = make_customer(email=f"one-more-{number}@example.com")
    for street in range(2):
        make_address(customer, address1=f"Storgatan {street}")


def _order(world: World, rows: Rows, number: int) -> None:
    make_order(email=f"one-more-{number}@example.com", lines=[MUG] * 3)


def _order_of_customer(world: World, rows: Rows, number: int) -> None:
    make_order(customer={"id": rows["customer_id"]}, lines=[MUG] * 3)


def _payment(world: World, rows: Rows, number: int) -> None:
    order = Order.objects.get(pk=rows["order_id"])
    attrs = {"kind": "sale", "amount": Decimal("1.00"), "gateway": "manual"}
    payments.create_transaction(order, attrs, actor="system", at=timezone.now())


def _event_of_order(world: World, rows: Rows, number: int) -> None:
    order = Order.objects.get(pk=rows["order_id"])
    record_event("orders/updated", order, actor=f"app:{world.installation.app_id}", at=timezone.now())


def _event_of_product(world: World, rows: Rows, number: int) -> None:
    product = Product.objects.get(pk=rows["product_id"])
    record_event("products/update", product, actor=f"app:{world.installation.app_id}", at=timezone.now())


def _variant(world: World, rows: Rows, number: int) -> None:
    wanted = VariantInput(attrs={"option1": f"Size {number}", "price": "3.00"})
    create_variant(rows["product_id"], wanted, actor="system", at=timezone.now())


def _image(world: World, rows: Rows, number: int) -> ProductImage:
    return make_image(Product.objects.get(pk=rows["product_id"]))


def _item(world: World, rows: Rows, number: int) -> None:
    item = make_item(world.shop, sku=f"MUG-{number}")
    for name in rows.keys() & {"id", "inventory_item_id"}:
        rows[name] = f"{rows[name]},{item.pk}"


def _level(world: World, rows: Rows, number: int) -> None:
    put(make_item(world.shop, sku=f"MUG-{number}"), Location.objects.get(pk=rows["location_id"]), number)


def _article(world: World, rows: Rows, number: int) -> None:
    attrs = {"title": f"Hello {number}", "tags": "a, b"}
    articles.create_article(rows["blog_id"], attrs, actor="system", at=timezone.now())


def _theme(world: World, rows: Rows, number: int) -> None:
    themes.duplicate(Theme.objects.get(role=Theme.Role.MAIN), actor="system", at=timezone.now())


def _mobile_app(world: World, rows: Rows, number: int) -> None:
    MobilePlatformApplication(shop=world.shop, platform="ios", application_id=f"X1Y2.more-{number}").save()


def _collected(world: World, rows: Rows, number: int) -> None:
    product = _product(world, rows, number)
    add_collect(
        collection_id=rows["collection_id"], product_id=product.pk, position=None, actor="system", at=timezone.now()
    )


GROWTH: dict[str, Grow] = {
    "products.json": _product,
    "products/<product_id>/variants.json": _variant,
    "products/<product_id>/images.json": _image,
    "products/<product_id>/events.json": _event_of_product,
    "custom_collections.json": lambda world, rows, number: make_custom(f"Kitchen {number}", make_product()),
    "smart_collections.json": lambda world, rows, number: make_smart(f"Cheap {number}", ("title", "contains", "x")),
    "collections/<collection_id>/products.json": _collected,
    "collects.json": lambda world, rows, number: make_custom(f"Kitchen {number}", make_product()),
    "locations.json": lambda world, rows, number: make_location(world.shop, name=f"Depot {number}"),
    "locations/<location_id>/inventory_levels.json": _level,
    "inventory_items.json": _item,
    "inventory_levels.json": _item,
    "script_tags.json": lambda world, rows, number: ScriptTagFactory.create(
        shop=world.shop, app=world.installation.app
    ),
    "blogs.json": lambda world, rows, number: make_blog(),
    "blogs/<blog_id>/articles.json": _article,
    "themes.json": _theme,
    "mobile_platform_applications.json": _mobile_app,
    "customers.json": _customer,
    "customers/search.json": _customer,
    "customers/<customer_id>/addresses.json": lambda world, rows, number: make_address(
        Customer.objects.get(pk=rows["customer_id"]), address1=f"Nygatan {number}"
    ),
    "customers/<customer_id>/orders.json": _order_of_customer,
    "orders.json": _order,
    "orders/<order_id>/transactions.json": _payment,
    "orders/<order_id>/events.json": _event_of_order,
    "events.json": _order,
}

# Lists whose length is no matter of rows.
FIXED = {"/admin/oauth/access_scopes.json"}


# What a list is asked for in place of its sample's query, which finds one row.
QUERIES = {"customers/search.json": {"query": "example"}}


def growth_of(route: Route) -> Grow:
    """How the rows of a list get more.

    Raises:
        KeyError: The list is not in the table.
    """
    pattern = route.name.removeprefix("GET ")
    if not pattern.endswith("metafields.json"):
        return GROWTH[pattern]
    owners = route.view.parents

    def grow(world: World, rows: Rows, number: int) -> None:
        owner = owners["owner_id"].objects.get(pk=rows["owner_id"]) if owners else world.shop
        row = {"namespace": "care", "key": f"wash_{number}", "value": "Cold", "type": "single_line_text_field"}
        metafields.set_many(owner, [row], actor="system", at=timezone.now())

    return grow
