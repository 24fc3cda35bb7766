"""Tests that the benchmark's rows match the rows that the services create."""

from typing import Any

from apps.customers.domain.search_columns import get_address_texts, rebuild_search_columns
from apps.customers.models import SEARCH_COLUMNS, Address, Customer
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from benchmarks.data import fill_customers
from tests.conftest import ApiClient


def test_generated_customers_are_like_made_ones(transactional_db: None, api: ApiClient, shop: Shop) -> None:
    with shop_scope(shop):
        fill_customers(shop.pk, 1, 120)
        rows = list(Customer.objects.order_by("id").prefetch_related("addresses"))

        assert (len(rows), Address.objects.count()) == (120, 240)
        for row in rows:
            output = [getattr(row, name) for name in SEARCH_COLUMNS]
            rebuild_search_columns(row, get_address_texts(row))
            assert [getattr(row, name) for name in SEARCH_COLUMNS] == output
            assert row.default_address in row.addresses.all()
            row.full_clean()

    def shown(path: str, **query: Any) -> list[dict[str, Any]]:
        customers: list[dict[str, Any]] = api.get(path, **query).json()["customers"]
        return customers

    assert len(shown("customers.json", limit="250")) == 120
    assert [row["id"] for row in shown("customers/search.json", query=f"email:{rows[7].email}")] == [rows[7].pk]
    assert api.post("customers.json", {"customer": {"email": "new@example.com"}}).status_code == 201
