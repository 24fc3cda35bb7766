"""Tests of changes in the audit log and in the history of an object: which row, which field, from what to what."""

from collections.abc import Callable

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.catalog.domain import products, variants
from apps.catalog.domain.inputs import ProductParts, VariantInput
from apps.catalog.models import Product, ProductImage, Variant
from apps.core.db import row_changes
from apps.core.events import recording
from apps.core.events.changed_rows import MAX_ROWS, ROWS
from apps.core.events.models import Event
from apps.core.events.recording import EventInput, record_event, record_secondary_events
from apps.core.events.redaction import redact_events
from apps.core.events.values import HIDDEN_VALUE
from apps.core.tenancy.models import Shop
from apps.customers.domain import addresses
from tests.panel.test_variant_grid import save_product
from tests.support.api_client import ApiClient
from tests.support.factories.catalog import make_image, make_product
from tests.support.factories.customers import make_customer
from tests.support.panel.client import Panel

ACTOR = "staff:1"


@pytest.fixture
def shirt(in_shop: Shop) -> Product:
    attrs = [{"option1": size, "price": "10.00"} for size in ("S", "M")]
    parts = ProductParts(variants=[VariantInput(attrs=row) for row in attrs])
    return products.create_product({"title": "Shirt"}, parts, actor=ACTOR, at=timezone.now())


def get_last_changes(topic: str = "products/update") -> dict[str, list[str | None]]:
    """Return the last event's changes of parts by ``label.field``."""
    rows = Event.objects.filter(topic=topic).latest("pk").changes.get(ROWS, {}).get("rows", ())
    return {f"{row['label']}.{name}": pair for row in rows for name, pair in row["changes"].items()}


def change_in_form(panel: Panel, api: ApiClient, variant: Variant) -> None:
    assert save_product(panel, {"variants-0-price": ["12.00"]}, variant.product_id).status_code == 302


def change_variant_in_api(panel: Panel, api: ApiClient, variant: Variant) -> None:
    body = {"variant": {"id": variant.pk, "price": "12.00"}}
    assert api.put(f"variants/{variant.pk}.json", body).status_code == 200


def change_product_in_api(panel: Panel, api: ApiClient, variant: Variant) -> None:
    rows: list[dict[str, object]] = [
        {"id": pk} for pk in Variant.objects.filter(product_id=variant.product_id).values_list("pk", flat=True)
    ]
    rows[0]["price"] = "12.00"
    body = {"product": {"id": variant.product_id, "variants": rows}}
    assert api.put(f"products/{variant.product_id}.json", body).status_code == 200


@pytest.mark.parametrize("change", [change_in_form, change_variant_in_api, change_product_in_api])
def test_the_history_shows_who_changed_a_price_from_what_to_what(
    product_client: Panel, api: ApiClient, shirt: Product, change: Callable[[Panel, ApiClient, Variant], None]
) -> None:
    change(product_client, api, Variant.objects.filter(product=shirt).earliest("position"))

    page = " ".join(product_client.get("catalog_product_history", shirt.pk).content.decode().split())
    assert "Variant S: Price:</span> <del>10.00</del> → <ins>12.00</ins>" in page


def test_created_and_deleted_parts_are_named(product_client: Panel, api: ApiClient, shirt: Product) -> None:
    small = Variant.objects.filter(product=shirt).earliest("position")
    api.post(f"products/{shirt.pk}/variants.json", {"variant": {"option1": "L", "price": "11.00"}})
    assert get_last_changes()["L.price"] == [None, "11.00"]
    page = " ".join(product_client.get("catalog_product_history", shirt.pk).content.decode().split())
    assert "Variant L:</span> created – " in page
    assert "Price: 11.00" in page
    assert "(blank)" not in page

    api.delete(f"products/{shirt.pk}/variants/{small.pk}.json")
    changes = Event.objects.filter(topic="products/update").latest("pk").changes
    assert [(row["label"], row["action"]) for row in changes[ROWS]["rows"] if row["action"] != "changed"] == [
        ("S", "deleted")
    ]
    assert get_last_changes()["S.price"] == ["10.000", None]


def test_an_entry_contains_a_limited_number_of_parts(product_client: Panel, in_shop: Shop) -> None:
    product = make_product(prices=tuple("1.00" for _ in range(MAX_ROWS + 5)))
    rows = [VariantInput(id=pk, attrs={"price": "2.00"}) for pk in product.variants.values_list("pk", flat=True)]
    products.update_product(product, {}, ProductParts(variants=rows), actor=ACTOR, at=timezone.now())

    changes = Event.objects.filter(topic="products/update").latest("pk").changes
    assert len(changes[ROWS]["rows"]) == MAX_ROWS
    assert changes[ROWS]["more"] == {"catalog.variant": 5}
    page = " ".join(product_client.get("catalog_product_history", product.pk).content.decode().split())
    assert "Variants:</span> 5 more" in page


def test_parts_with_personal_data_show_that_they_changed(in_shop: Shop) -> None:
    customer = make_customer()
    address = addresses.create_address(customer, {"city": "Ottawa"}, actor=ACTOR, at=timezone.now())
    addresses.update_address(address, {"city": "Toronto"}, actor=ACTOR, at=timezone.now())

    assert get_last_changes("customers/update")[f"#{address.pk}.city"] == [HIDDEN_VALUE, HIDDEN_VALUE]
    assert "Toronto" not in str(list(Event.objects.values_list("changes", flat=True)))


def test_changes_that_are_rolled_back_are_not_recorded(shirt: Product) -> None:
    variant = Variant.objects.filter(product=shirt).earliest("position")

    variant.barcode = "123"
    with transaction.atomic():
        variant.save(update_fields=["barcode"])
        transaction.set_rollback(True)
    variants.update_variant(variant, VariantInput(attrs={"price": "12.00"}), actor=ACTOR, at=timezone.now())

    assert get_last_changes() == {"S.price": ["10.000", "12.00"]}


def test_parts_that_are_not_read_are_counted(in_shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_changes, "MAX_READ_ROWS", 2)
    product = Product.objects.get(pk=make_product(prices=("1.00",) * 5).pk)
    for _ in range(4):
        make_image(product)
    row_changes.discard_row_changes()

    with transaction.atomic():
        Variant.objects.filter(product=product).update(barcode="9")
        ProductImage.objects.filter(product=product).delete()
        record_event("products/update", product, actor=ACTOR, at=timezone.now())

    changes = Event.objects.filter(topic="products/update").latest("pk").changes[ROWS]
    assert changes["more"] == {"catalog.variant": 3, "catalog.productimage": 2}
    assert [(row["type"], row["action"]) for row in changes["rows"]] == [
        *[("catalog.variant", "changed")] * 2,
        *[("catalog.productimage", "deleted")] * 2,
    ]


def test_a_new_part_shows_the_values_that_another_instance_saved(shirt: Product) -> None:
    product = Product.objects.get(pk=shirt.pk)
    image = make_image(product, alt="old")
    image.pk, image._state.adding = None, True
    image.save()
    other = ProductImage.objects.get(pk=image.pk)
    other.alt = "new"
    other.save(update_fields=["alt"])
    record_event("products/update", product, actor=ACTOR, at=timezone.now())

    assert get_last_changes()[f"{image}.alt"] == [None, "new"]


def test_secondary_events_leave_the_changes_to_the_main_event(shirt: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "has_audience", lambda topic: True)
    product = Product.objects.get(pk=shirt.pk)
    before, product.vendor = product.vendor, "Other vendor"
    product.save(update_fields=["vendor"])
    record_secondary_events([EventInput("products/update", product)], actor=ACTOR, at=timezone.now())
    record_event("products/update", product, actor=ACTOR, at=timezone.now())

    secondary, main = Event.objects.filter(topic="products/update").order_by("pk")
    assert (secondary.changes, main.changes) == ({}, {"vendor": [before, "Other vendor"]})


def test_a_change_outside_a_transaction_is_not_recorded_later(shirt: Product) -> None:
    product = Product.objects.get(pk=shirt.pk)
    for is_open, vendor in ((False, "First"), (True, "Second")):
        product.vendor = vendor
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(connection, "in_atomic_block", is_open)
            product.save(update_fields=["vendor"])
    record_event("products/update", product, actor=ACTOR, at=timezone.now())

    assert Event.objects.filter(topic="products/update").latest("pk").changes == {"vendor": ["First", "Second"]}


def test_a_consent_event_only_contains_the_consent(api: ApiClient, in_shop: Shop) -> None:
    customer = make_customer(note="", verified_email=True)
    consent = {"state": "subscribed", "opt_in_level": "single_opt_in"}
    body = {"email": "new@example.com", "note": "Likes tea", "email_marketing_consent": consent}
    assert api.put(f"customers/{customer.pk}.json", {"customer": body}).status_code == 200

    by_topic = {event.topic: event.changes for event in Event.objects.all()}
    assert {*by_topic["customers_email_marketing_consent/update"]} == {
        "email_marketing_state",
        "email_marketing_updated_at",
    }
    assert by_topic["customers_email_marketing_consent/update"]["email_marketing_state"] == [
        "not_subscribed",
        "subscribed",
    ]
    assert by_topic["customers/update"]["verified_email"] == [True, False]
    assert {"email", "note"} <= {*by_topic["customers/update"]}


def test_personal_values_of_parts_are_redacted_in_entries_of_other_objects(shirt: Product) -> None:
    part = {"type": "customers.address", "id": 1, "label": "#1", "action": "changed", "changes": {"city": ["A", "B"]}}
    changes = {ROWS: {"rows": [part], "more": {}}}
    event = record_event("products/update", shirt, actor=ACTOR, at=timezone.now(), changes=changes)

    redact_events(Product, [shirt.pk])

    event.refresh_from_db()
    assert event.changes == {}
