"""Floor A: the database builds the JSON, and its bytes are sent unchanged."""

from typing import Any

from benchmarks.floors import documents
from benchmarks.floors.creating import create_customer
from benchmarks.floors.frame import Resource, connection, fetch, serve

CUSTOMERS = documents.many(documents.CUSTOMER, "customers", "DESC")
PRODUCTS = documents.many(documents.PRODUCT, "products", "ASC")
ORDERS = documents.many(documents.ORDER, "orders", "DESC", only="r.status = 'open'")
CUSTOMER = documents.one(documents.CUSTOMER, "customer")


def list_customers(shop_id: int) -> bytes:
    row: bytes = fetch(CUSTOMERS, shop_id)[0]
    return row


def list_products(shop_id: int) -> bytes:
    row: bytes = fetch(PRODUCTS, shop_id)[0]
    return row


def list_orders(shop_id: int) -> bytes:
    row: bytes = fetch(ORDERS, shop_id)[0]
    return row


def one_customer(shop_id: int, pk: int) -> bytes | None:
    row = fetch(CUSTOMER, shop_id, pk)
    return row[0] if row else None


def make_customer(shop_id: int, body: dict[str, Any]) -> bytes:
    with connection().transaction():
        pk = create_customer(shop_id, body)
        row: bytes = fetch(CUSTOMER, shop_id, pk)[0]
        return row


application = serve(
    Resource("customers", list_rows=list_customers, get_row=one_customer, create=make_customer),
    Resource("products", list_rows=list_products),
    Resource("orders", list_rows=list_orders),
)
