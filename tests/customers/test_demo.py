"""Tests for the demo shop's customers: identical in every run, with many countries and scripts."""

import unicodedata
from datetime import UTC, datetime

from apps.customers.demo import load
from apps.customers.models import Address, Customer
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop

AT = datetime(2026, 3, 2, 12, tzinfo=UTC)


def read_rows() -> list[tuple[object, ...]]:
    names = ("first_name", "last_name", "email", "phone", "tags", "state", "created_at")
    return list(Customer.objects.order_by("id").values_list(*names))


def test_the_demo_is_the_same_each_time_and_speaks_many_scripts(shop: Shop, other_shop: Shop) -> None:
    with shop_scope(shop):
        load.load_demo_customers(shop, AT)
        first = read_rows()
        countries = set(Address.objects.values_list("country_code", flat=True))
        states = set(Customer.objects.values_list("state", flat=True))
    with shop_scope(other_shop):
        load.load_demo_customers(other_shop, AT)
        second = read_rows()

    scripts = {unicodedata.name(str(row[0])[0]).split()[0] for row in first}
    assert first == second
    assert len(first) == load.COUNT
    assert len(countries) == 12
    assert scripts >= {"LATIN", "GREEK", "ARABIC", "CYRILLIC", "DEVANAGARI", "HEBREW", "CJK"}
    assert states == {"disabled", "invited", "enabled", "declined"}
