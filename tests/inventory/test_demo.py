"""Tests for the demo shop's locations."""

from django.utils import timezone

from apps.inventory import demo
from apps.inventory.models import Location
from apps.shops.models import Shop


def test_the_demo_store_has_three_locations_and_its_first_one_is_primary(in_shop: Shop) -> None:
    demo.load_demo_locations(in_shop, timezone.now())

    rows = Location.objects.order_by("priority")
    assert [(row.name, row.province_code, row.active) for row in rows] == [
        ("Main Street store", "ME", True),
        ("Harbor warehouse", "MA", True),
        ("Montreal depot", "QC", True),
    ]
    in_shop.refresh_from_db()
    assert in_shop.primary_location_id == rows[0].pk
