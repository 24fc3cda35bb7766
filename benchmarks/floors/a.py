"""Floor A: the database builds the JSON, and its bytes go out as they are."""

from typing import Any

from benchmarks.floors import documents
from benchmarks.floors.creating import create_customer
from benchmarks.floors.frame import Resource, connection, fetch, serve

CUSTOMERS = documents.many(documents.CUSTOMER, "customers", "DESC")
PRODUCTS = documents.many(documents.PRODUCT, "products", "ASC")
ORDERS = documents.many(documents.ORDER, "orders", "DESC", only="r.status = 'open'")
CUSTOMER = documents.one(documents.CUSTOMER, "customer")


def list_customers(shop_id: int) -> bytes:
    found: bytes = fetch(CUSTOMERS, shop_id)[0]
    return found


def list_products(shop_id: int) -> bytes:
    found: bytes = fetch(PRODUCTS, shop_id)[0]
    return found


def list_orders(shop_id: int) -> bytes:
    found: bytes = fetch(ORDERS, shop_id)[0]
    return found


def one_customer(shop_id: int, pk: int) -> bytes | None:
    found = fetch(CUSTOMER, shop_id, pk)
    return found[0] if found else None


def make_customer(shop_id: int, body: dict[str, Any]) -> bytes:
    with connection().transaction():
        pk = create_customer(shop_id, body)
        found: bytes = fetch(CUSTOMER, shop_id, pk)[0]
        return found


application = serve(
    Resource("customers", many=list_customers, one=one_customer, create=make_customer),
    Resource("products", many=list_products),
    Resource("orders", many=list_orders),
)
