"""Tests that bulk inserts store every row unchanged, for any number of rows and any values."""

import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.catalog.models import Product, Variant
from apps.events.models import Event
from apps.ground.prepared_sql import MANY_ROWS
from apps.ground.tenancy import shop_scope
from apps.inventory.models import InventoryItem
from apps.shops.models import Shop
from tests.catalog.factories import make_product

pytestmark = pytest.mark.django_db

TEXTS = ["", "NULL", "null", '"', "{1,2}", "a,b", "back\\slash", "it's", "%s", "line\nbreak", "ä€😀", " both "]
JSON: list[Any] = [{}, {"a": [None, 1, "x"]}, {"it's": '{"}'}, [], [1, [2]], {"%s": "\\"}]
ADDRESSES = ["192.0.2.7", "2001:db8::1", None]


@pytest.mark.parametrize("count", [2, 3, MANY_ROWS - 1, MANY_ROWS, 3 * MANY_ROWS])
@pytest.mark.parametrize("mixed", [True, False], ids=["each its own", "all the same"])
def test_what_is_written_together_reads_back(shop: Shop, count: int, mixed: bool) -> None:
    def pick(values: list[Any], number: int) -> Any:
        return values[number % len(values)] if mixed else values[-1]

    at = timezone.now()
    events = [
        Event(
            shop_id=shop.pk,
            topic="products/update",
            subject_type="catalog.product",
            subject_id=number if mixed else 2**62,
            subject_label=pick(TEXTS, number),
            actor=pick(TEXTS, number + 1),
            message=pick(TEXTS, number + 2),
            changes=pick(JSON, number),
            payload=pick([*JSON, None], number),
            group=uuid.uuid4(),
            address=pick(ADDRESSES, number),
            created_at=at,
        )
        for number in range(count)
    ]

    with shop_scope(shop):
        created = Event.objects.bulk_create(events)
        stored_events = list(Event.objects.filter(pk__in=[event.pk for event in created]).order_by("pk"))

    names = [field.attname for field in Event._meta.concrete_fields]
    assert [[getattr(row, name) for name in names] for row in stored_events] == [
        [getattr(row, name) for name in names] for row in created
    ]
    assert [event.pk for event in created] == sorted(event.pk for event in created)


@pytest.mark.parametrize("count", [2, 2 * MANY_ROWS])
def test_a_column_refuses_what_it_refuses_of_one_row(shop: Shop, count: int) -> None:
    with shop_scope(shop):
        product = make_product()
        items = InventoryItem.objects.bulk_create([InventoryItem(shop_id=shop.pk) for _ in range(count)])
        rows = [
            Variant(
                shop_id=shop.pk,
                product=product,
                inventory_item=item,
                option1=f"{number}",
                position=number + 2,
                price=Decimal("-1" if number == 1 else "9.90"),
            )
            for number, item in enumerate(items)
        ]
        before = Variant.objects.count()
        with pytest.raises(IntegrityError), transaction.atomic():
            Variant.objects.bulk_create(rows)

        assert Variant.objects.count() == before
        rows[1].price = Decimal(0)
        Variant.objects.bulk_create(rows)
        assert Product.objects.get(pk=product.pk).variants.count() == before + count
