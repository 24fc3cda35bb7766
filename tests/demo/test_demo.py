"""Tests of the demo data: the demo shop is complete, and the same each time."""

import unicodedata
from datetime import UTC, datetime, timedelta

from django.db.models import Count
from django.utils import timezone

from apps.catalog.domain.collections.membership import get_collection_products
from apps.catalog.models import Collection, Product, ProductImage, Variant
from apps.content.domain import assets, blob_store
from apps.content.domain.script_tags import is_vintage
from apps.content.domain.theme_files.keys import DIRECTORIES
from apps.content.models import (
    Article,
    Asset,
    Blog,
    Comment,
    MobilePlatformApplication,
    Page,
    Policy,
    Redirect,
    ScriptTag,
    Theme,
)
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.models import Address, Customer
from apps.demo.data import content, customers, fulfillment, locations, refunds
from apps.demo.data.catalog import load_demo_catalog
from apps.demo.data.locations import load_demo_locations as make_locations
from apps.demo.data.orders import create_demo_orders
from apps.demo.data.product_images import COLORS, SHAPES, draw_product
from apps.demo.warehouse import SERVICE_NAME
from apps.fulfillment.domain import consistency_checks
from apps.fulfillment.models import Fulfillment, FulfillmentOrder, FulfillmentService
from apps.inventory.domain import consistency_checks as ledger_check
from apps.inventory.models import InventoryLevel, Location
from apps.orders.models import Order
from apps.refunds.models import Refund
from apps.webhooks.models import Delivery
from tests.support.factories.orders import make_order, make_variant
from tests.support.files.images import decode_image

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def test_the_demo_store_is_full(in_shop: Shop) -> None:
    make_locations(in_shop, NOON)

    load_demo_catalog(in_shop, NOON)

    assert Product.objects.count() >= 50
    assert not Product.objects.annotate(pictures=Count("images")).filter(pictures=0).exists()
    assert Collection.objects.filter(kind="custom").count() == 6
    assert Collection.objects.filter(kind="smart").count() == 5
    assert all(get_collection_products(collection).exists() for collection in Collection.objects.all())
    stocked = InventoryLevel.objects.filter(available__gt=0).values_list("location_id").annotate(Count("pk"))
    assert len(stocked) == 3
    assert Variant.objects.filter(inventory_quantity=0).exists()
    assert ProductImage.objects.filter(variants__isnull=False).exists()
    assert Product.objects.filter(published_at__gt=NOON).count() == 0


def test_pictures_are_the_same_each_time() -> None:
    for shape in SHAPES:
        first, second = (draw_product(shape, COLORS["Moss"], shape) for _ in range(2))

        assert first == second
        assert decode_image(first).size == (640, 640)


def test_the_demo_store_has_a_complete_theme_and_a_journal(shop: Shop) -> None:
    now = timezone.now()
    with shop_scope(shop):
        content.load_demo_content(shop, now)

        main = Theme.objects.get(role="main")
        files = list(Asset.objects.select_related("content").filter(theme=main))
        assert main.name == "Skein"
        assert 38 <= len(files) <= 45
        assert {asset.key.split("/")[0] for asset in files} == DIRECTORIES - {"blocks"}
        assert is_vintage(main)
        for asset in files:
            assets.check_asset_key(asset.key)
            assets.check_asset_content(asset.key, blob_store.read_blob(asset.content))
        blog = Blog.objects.get()
        assert (blog.handle, Article.objects.filter(blog=blog).count()) == ("journal", 10)
        assert Article.objects.filter(published_at__lte=now).count() == 8
        assert Article.objects.filter(published_at__gt=now + timedelta(days=1)).count() == 1
        assert Article.objects.exclude(image=None).count() == 5
        assert (Page.objects.count(), Redirect.objects.count(), Policy.objects.count()) == (3, 2, 2)
        assert sorted(Comment.objects.values_list("status", flat=True)) == ["published", "spam", "unapproved"]
        assert MobilePlatformApplication.objects.count() == 2
        assert ScriptTag.objects.get().app.name == "Size guide"


AT = datetime(2026, 3, 2, 12, tzinfo=UTC)


def read_rows() -> list[tuple[object, ...]]:
    names = ("first_name", "last_name", "email", "phone", "tags", "state", "created_at")
    return list(Customer.objects.order_by("id").values_list(*names))


def test_the_demo_is_the_same_each_time_and_speaks_many_scripts(shop: Shop, other_shop: Shop) -> None:
    with shop_scope(shop):
        customers.load_demo_customers(shop, AT)
        first = read_rows()
        countries = set(Address.objects.values_list("country_code", flat=True))
        states = set(Customer.objects.values_list("state", flat=True))
    with shop_scope(other_shop):
        customers.load_demo_customers(other_shop, AT)
        second = read_rows()

    scripts = {unicodedata.name(str(row[0])[0]).split()[0] for row in first}
    assert first == second
    assert len(first) == customers.COUNT
    assert len(countries) == 12
    assert scripts >= {"LATIN", "GREEK", "ARABIC", "CYRILLIC", "DEVANAGARI", "HEBREW", "CJK"}
    assert states == {"disabled", "invited", "enabled", "declined"}


STATES = {
    *(("open", "unsubmitted"), ("open", "submitted"), ("open", "rejected"), ("on_hold", "unsubmitted")),
    *(("scheduled", "unsubmitted"), ("in_progress", "unsubmitted"), ("in_progress", "accepted")),
    *(("in_progress", "cancellation_requested"), ("closed", "unsubmitted"), ("closed", "accepted")),
}


def test_the_demo_has_work_in_each_state_and_refunds(in_shop: Shop) -> None:
    for number in range(3):
        variant = make_variant(in_shop, sku=f"M{number}", stock=50)
    now = timezone.now()
    lines = [{"variant_id": variant.pk, "quantity": 3}]
    old = make_order(lines=lines, financial_status="paid", created_at=now - timedelta(days=6))

    fulfillment.load_demo_fulfillment(in_shop, now)
    refunds.create_demo_refunds(in_shop, now)

    assert set(FulfillmentOrder.objects.values_list("status", "request_status")) == STATES
    shipment_statuses = set(Fulfillment.objects.values_list("shipment_status", flat=True))
    assert shipment_statuses == {"", "in_transit", "attempted_delivery", "delivered"}
    assert {"partial", "fulfilled"} <= set(Order.objects.values_list("fulfillment_status", flat=True))
    assert Refund.objects.count() == 4
    assert Refund.objects.get(order=old).refund_line_items.get().restock_type == "cancel"
    assert {"refunded", "partially_refunded"} <= set(Order.objects.values_list("financial_status", flat=True))
    assert FulfillmentOrder.objects.filter(fulfill_by__lt=now).exists()
    service = FulfillmentService.objects.get(name=SERVICE_NAME)
    assert FulfillmentOrder.objects.filter(assigned_location=service.location_id).count() == 6
    assert set(Delivery.objects.values_list("state", flat=True)) == {Delivery.State.CANCELLED}
    assert [
        *consistency_checks.find_wrong_fulfillable_quantities(),
        *consistency_checks.find_wrong_fulfilled_quantities(),
        *map(str, ledger_check.find_differences()),
    ] == []


def test_a_shop_without_goods_gets_the_warehouse_alone(in_shop: Shop) -> None:
    fulfillment.load_demo_fulfillment(in_shop, timezone.now())
    refunds.create_demo_refunds(in_shop, timezone.now())

    assert set(FulfillmentOrder.objects.values_list("assigned_location__name", flat=True)) == {SERVICE_NAME}
    assert Product.objects.get().images.count() == 1
    assert not Refund.objects.exists()


def test_the_demo_store_has_three_locations_and_its_first_one_is_primary(in_shop: Shop) -> None:
    locations.load_demo_locations(in_shop, timezone.now())

    rows = Location.objects.order_by("priority")
    assert [(row.name, row.province_code, row.active) for row in rows] == [
        ("Main Street store", "ME", True),
        ("Harbor warehouse", "MA", True),
        ("Montreal depot", "QC", True),
    ]
    in_shop.refresh_from_db()
    assert in_shop.primary_location_id == rows[0].pk


def test_demo_has_orders_in_every_state(shop: Shop) -> None:
    make_variant(shop, stock=100)

    with shop_scope(shop):
        create_demo_orders(shop, timezone.now())
        orders = list(Order.objects.order_by("number"))

    assert [order.number for order in orders] == list(range(1, 301))
    assert {order.status for order in orders} == set(Order.Status)
    refunds = {Order.FinancialStatus.PARTIALLY_REFUNDED, Order.FinancialStatus.REFUNDED}
    assert {order.financial_status for order in orders} == set(Order.FinancialStatus) - refunds
    assert {order.fulfillment_status for order in orders} >= {"", "fulfilled", "restocked"}
    assert any(order.is_multi_currency for order in orders)
    assert all(order.created_at <= timezone.now() for order in orders)
