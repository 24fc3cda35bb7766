"""Factories for customers in the current shop, based on the domain services."""

from datetime import UTC, datetime
from itertools import count

from apps.customers.domain import addresses, customers
from apps.customers.models import Address, Customer
from tests.support.api_client import ApiClient
from tests.support.types import JsonObject

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
_numbers = count(1)
# Emails have letters instead of digits, so that a search for an order number never finds the customer of a test.
_LETTERS = str.maketrans("0123456789", "bcdfghjklm")


def make_customer(*, at: datetime = NOON, **attrs: object) -> Customer:
    """Create a customer, with a unique email unless one is given."""
    values = {"email": f"customer{next(_numbers)}@example.com".translate(_LETTERS), **attrs}
    return customers.create_customer(values, actor="staff:1", at=at)


def make_address(customer: Customer, *, at: datetime = NOON, **attrs: object) -> Address:
    values = {"address1": "Storgatan 1", "city": "Lund", "zip": "222 22", "country": "Sweden", **attrs}
    return addresses.create_address(customer, values, actor="staff:1", at=at)


def post_customer(api: ApiClient, **fields: object) -> JsonObject:
    response = api.post("customers.json", {"customer": fields})
    assert response.status_code == 201, response.content
    return response.json()["customer"]
