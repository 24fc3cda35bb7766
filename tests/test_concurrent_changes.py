"""Tests for two concurrent changes to the same object: the second change sees the first, without deadlocks."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from django.db import OperationalError
from django.utils import timezone

from apps.catalog.domain.locks import lock_product
from apps.catalog.domain.products import delete_product
from apps.catalog.models import Product, Variant
from apps.content.models import ScriptTag
from apps.core.events.models import Event
from apps.core.exceptions import RowDeleted
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.customers.domain import addresses, personal_data
from apps.customers.domain.lookup import lock_customer
from apps.customers.models import Address, Customer
from apps.inventory.domain import locations, stock
from apps.inventory.models import InventoryItem, InventoryLevel, Location
from apps.metafields.domain import write
from apps.metafields.domain.owners import get_owner_type_of_row
from apps.metafields.models import Metafield
from apps.orders.domain import customer_totals, selectors, stock_reservation, updates
from apps.orders.models import Order
from tests.support.api_client import ApiClient, Response
from tests.support.databases.races import run_unguarded, run_while_uncommitted
from tests.support.factories.catalog import make_product
from tests.support.factories.customers import make_address, make_customer
from tests.support.factories.inventory import get_first_location, make_item, make_location
from tests.support.factories.orders import make_order, make_variant
from tests.support.types import JsonObject

on_postgres = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
VALUES = {"namespace": "care", "key": "wash", "value": "Cold", "type": "single_line_text_field"}

ADDRESS = {"address1": "1 Main Street", "city": "Ottawa", "zip": "K1A 0B1", "country": "Canada"}
EMAIL = "ada@example.com"
TAG = {"script_tag": {"src": "https://a.example/1.js", "event": "onload"}}
OWNERS = {"catalog_product", "catalog_variant"}


def get_actor_arguments() -> JsonObject:
    return {"actor": "staff:17", "at": timezone.now()}


# --- services read rows again after locking them ---


def test_an_item_is_compared_with_what_it_is_now(in_shop: Shop) -> None:
    row = make_item(in_shop, sku="A")
    first, second = (InventoryItem.objects.get(pk=row.pk) for _ in range(2))

    stock.update_item(first, {"sku": "B"}, **get_actor_arguments())
    stock.update_item(second, {"sku": "A"}, **get_actor_arguments())

    row.refresh_from_db()
    changes = Event.objects.filter(topic="inventory_items/update").order_by("id").values_list("changes", flat=True)
    assert (row.sku, list(changes)) == ("A", [{"sku": ["A", "B"]}, {"sku": ["B", "A"]}])


def test_an_address_is_compared_with_what_it_is_now(in_shop: Shop) -> None:
    row = make_address(make_customer(), city="Lund")
    first, second = (Address.objects.get(pk=row.pk) for _ in range(2))

    addresses.update_address(first, {"city": "Ystad"}, **get_actor_arguments())
    addresses.update_address(second, {"city": "Lund"}, **get_actor_arguments())

    row.refresh_from_db()
    assert row.city == "Lund"


def test_a_deleted_address_is_neither_changed_nor_made_the_default(in_shop: Shop) -> None:
    customer = make_customer()
    make_address(customer)
    deleted_address = make_address(customer)
    addresses.delete_addresses(customer, [deleted_address.pk], **get_actor_arguments())

    with pytest.raises(RowDeleted):
        addresses.update_address(deleted_address, {"city": "Lund"}, **get_actor_arguments())
    with pytest.raises(RowDeleted):
        addresses.set_default_address(deleted_address, **get_actor_arguments())


def test_a_metafield_is_compared_with_what_it_is_now_and_deleted_once(in_shop: Shop) -> None:
    row = create_metafield(make_product())
    first, second = (Metafield.objects.get(pk=row.pk) for _ in range(2))

    write.update_metafield(first, {"value": "Hot"}, **get_actor_arguments())
    write.update_metafield(second, {"value": "Cold"}, **get_actor_arguments())
    row.refresh_from_db()
    assert row.value == "Cold"

    write.delete_metafield(first, **get_actor_arguments())
    with pytest.raises(RowDeleted):
        write.delete_metafield(second, **get_actor_arguments())
    assert Event.objects.filter(topic="product_metafields/delete").count() == 1


def create_metafield(owner: Product | Variant) -> Metafield:
    return write.create_metafield(get_owner_type_of_row(owner), owner.pk, VALUES, **get_actor_arguments())


# --- request bodies are compared and merged under the lock ---


class TestRequests:
    pytestmark = on_postgres

    @pytest.mark.race(control="test_the_second_write_replaces_the_first_without_its_lock")
    def test_an_address_of_an_order_is_merged_with_what_it_is_now(self, api: ApiClient, shop: Shop) -> None:
        merged = run_while_uncommitted(shop, *change_address_twice(api, shop))

        assert get_merged_address(merged) == ("Toronto", "M5V 1E3")

    @pytest.mark.race(control="test_the_second_write_replaces_the_first_without_its_lock")
    def test_a_plain_resource_is_compared_with_what_it_is_now(self, api: ApiClient, shop: Shop) -> None:
        path = post_tag(api)

        run_while_uncommitted(shop, *change_tag_twice(api, path))

        assert api.get(path).json()["script_tag"]["src"] == "https://a.example/1.js"

    def test_the_second_write_replaces_the_first_without_its_lock(self, api: ApiClient, shop: Shop) -> None:
        """Show what goes wrong without the lock: the second request merges its body with outdated values."""
        path = post_tag(api)

        merged = run_unguarded(shop, *change_address_twice(api, shop), locks={"orders_order"})
        run_unguarded(shop, *change_tag_twice(api, path), locks={"content_scripttag"})

        assert get_merged_address(merged) == ("Ottawa", "M5V 1E3")
        assert api.get(path).json()["script_tag"]["src"] == "https://a.example/2.js"


def change_address_twice(api: ApiClient, shop: Shop) -> tuple[Callable[[], object], Callable[[], Response]]:
    order = make_order(shop, shipping_address=ADDRESS)
    address = {**(order.shipping_address or {}), "city": "Toronto"}
    return (
        lambda: updates.update_order(order, {"shipping_address": address}, **get_actor_arguments()),
        lambda: api.put(f"orders/{order.pk}.json", {"order": {"shipping_address": {"zip": "M5V 1E3"}}}),
    )


def get_merged_address(response: Response) -> tuple[str, str]:
    address = response.json()["order"]["shipping_address"]
    return address["city"], address["zip"]


def post_tag(api: ApiClient) -> str:
    return f"script_tags/{api.post('script_tags.json', TAG).json()['script_tag']['id']}.json"


def change_tag_twice(api: ApiClient, path: str) -> tuple[Callable[[], object], Callable[[], Response]]:
    return (
        lambda: ScriptTag.objects.update(src="https://a.example/2.js"),
        lambda: api.put(path, {"script_tag": {"src": "https://a.example/1.js"}}),
    )


# --- rows added to an object that is being deleted ---


class TestRowsAddedToDeletedObjects:
    pytestmark = on_postgres

    @pytest.mark.parametrize("kind", ["product", "variant"])
    @pytest.mark.race(control="test_a_metafield_outlives_its_owner_without_the_owners_lock")
    def test_an_owner_being_deleted_gets_no_metafield(self, api: ApiClient, shop: Shop, kind: str) -> None:
        variant = make_variant(shop)
        pk = variant.product_id if kind == "product" else variant.pk

        response = run_while_uncommitted(
            shop,
            lambda: delete_product(Product.objects.get(pk=variant.product_id), **get_actor_arguments()),
            lambda: api.post(f"{kind}s/{pk}/metafields.json", {"metafield": VALUES}),
        )

        assert (response.status_code, count_metafields(shop)) == (404, 0)

    @pytest.mark.parametrize("kind", ["product", "variant"])
    @pytest.mark.race(control="test_a_metafield_outlives_its_owner_without_the_owners_lock")
    def test_a_metafield_that_is_being_made_goes_with_its_owner(self, api: ApiClient, shop: Shop, kind: str) -> None:
        variant = make_variant(shop)

        response = run_while_uncommitted(
            shop,
            lambda: create_metafield(variant.product if kind == "product" else variant),
            lambda: api.delete(f"products/{variant.product_id}.json"),
        )

        assert (response.status_code, count_metafields(shop)) == (200, 0)

    def test_a_metafield_outlives_its_owner_without_the_owners_lock(self, api: ApiClient, shop: Shop) -> None:
        variant = make_variant(shop)

        run_unguarded(
            shop,
            lambda: create_metafield(variant.product),
            lambda: api.delete(f"products/{variant.product_id}.json"),
            locks=OWNERS,
        )

        assert count_metafields(shop) == 1

    @pytest.mark.race(control="test_a_new_item_is_stocked_at_an_inactive_location_without_its_lock")
    def test_a_new_item_is_stocked_at_the_heir_of_the_primary_location(self, api: ApiClient, shop: Shop) -> None:
        primary, heir = get_first_location(shop), make_location(shop)

        response = run_while_uncommitted(shop, *deactivate_and_stock(api, primary))

        assert response.status_code == 201, response.content
        assert get_stocked_locations(shop) == [heir.pk]

    def test_a_new_item_is_stocked_at_an_inactive_location_without_its_lock(self, api: ApiClient, shop: Shop) -> None:
        primary, _heir = get_first_location(shop), make_location(shop)

        run_unguarded(shop, *deactivate_and_stock(api, primary), locks={"inventory_location"})

        assert get_stocked_locations(shop) == [primary.pk]

    @pytest.mark.race(control="test_a_concurrent_order_keeps_the_address_without_the_customers_lock")
    def test_an_erasure_covers_orders_that_came_while_it_waited(self, shop: Shop) -> None:
        customer = make_buyer(shop)

        run_while_uncommitted(shop, *order_and_erase(shop, customer))

        assert get_order_emails(customer) == ["", ""]

    def test_a_concurrent_order_keeps_the_address_without_the_customers_lock(self, shop: Shop) -> None:
        customer = make_buyer(shop)

        run_unguarded(shop, *order_and_erase(shop, customer), locks={"customers_customer"})

        assert get_order_emails(customer) == ["", EMAIL]


def count_metafields(shop: Shop) -> int:
    with shop_scope(shop):
        return Metafield.objects.count()


def deactivate_and_stock(api: ApiClient, primary: Location) -> tuple[Callable[[], object], Callable[[], Response]]:
    return (
        lambda: locations.deactivate_location(primary, **get_actor_arguments()),
        lambda: api.post("products.json", {"product": {"title": "Mug"}}),
    )


def get_stocked_locations(shop: Shop) -> list[int]:
    with shop_scope(shop):
        return [level.location_id for level in InventoryLevel.objects.all()]


def make_buyer(shop: Shop) -> Customer:
    make_order(shop, email=EMAIL)
    with shop_scope(shop):
        return Customer.objects.get()


def order_and_erase(shop: Shop, customer: Customer) -> tuple[Callable[[], object], Callable[[], object]]:
    return (
        lambda: make_order(shop, email=EMAIL),
        lambda: personal_data.redact_customer(customer, **get_actor_arguments()),
    )


def get_order_emails(customer: Customer) -> list[str]:
    with shop_scope(customer.shop):
        return sorted(order.email for order in customer.orders.all())


# --- no deadlocks ---


class TestDeadlocks:
    pytestmark = on_postgres

    @pytest.mark.race(control="test_an_erasure_that_holds_the_customer_first_waits_in_a_circle")
    def test_an_erasure_waits_for_orders_before_it_holds_the_customer(self, shop: Shop) -> None:
        change_order_during_erasure(shop)

    @pytest.mark.race(control="test_an_order_locking_its_products_one_by_one_deadlocks")
    def test_a_paid_order_holds_its_products_together(self, shop: Shop) -> None:
        placed = order_locked_products(shop)

        with shop_scope(shop):
            assert placed.total_paid == Decimal("20.00")
            assert set(Product.objects.values_list("units_sold", flat=True)) == {1}

    @pytest.mark.deadlocks(1)
    def test_an_erasure_that_holds_the_customer_first_waits_in_a_circle(
        self, shop: Shop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(personal_data, "_lock_customer", lambda customer, _job: lock_customer(customer))

        with pytest.raises(OperationalError, match="deadlock"):
            change_order_during_erasure(shop)

    @pytest.mark.deadlocks(1)
    def test_an_order_locking_its_products_one_by_one_deadlocks(
        self, shop: Shop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(stock_reservation, "_lock_products", lambda *_: None)

        with pytest.raises(OperationalError, match="deadlock"):
            order_locked_products(shop)


def change_order_during_erasure(shop: Shop) -> None:
    customer = make_buyer(shop)
    with shop_scope(shop):
        order = customer.orders.get()
    run_while_uncommitted(
        shop,
        lambda: selectors.lock_order(order),
        lambda: personal_data.redact_customer(customer, **get_actor_arguments()),
        then=lambda: customer_totals.lock_order_customer(customer.pk),
    )


def order_locked_products(shop: Shop) -> Order:
    """Place a paid order for two products while another transaction locks first one product and then the other."""
    untracked, tracked = make_variant(shop), make_variant(shop, stock=5)
    lines = [{"variant_id": row.pk, "quantity": 1} for row in (tracked, untracked)]
    options: Attrs = {"inventory_behaviour": "decrement_obeying_policy", "financial_status": "paid"}
    return run_while_uncommitted(
        shop,
        lambda: lock_product(untracked.product_id),
        lambda: make_order(shop, lines=lines, **options),
        then=lambda: lock_product(tracked.product_id),
    )
