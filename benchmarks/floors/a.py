"""Floor A: the database builds the JSON, and its bytes are sent unchanged."""

from typing import Any

from benchmarks.floors import documents
from benchmarks.floors.creating import create_customer
from benchmarks.floors.frame import Resource, create_application, fetch_row, get_connection

CUSTOMERS = documents.select_list(documents.CUSTOMER, "customers", "DESC")
PRODUCTS = documents.select_list(documents.PRODUCT, "products", "ASC")
ORDERS = documents.select_list(documents.ORDER, "orders", "DESC", only="r.status = 'open'")
CUSTOMER = documents.select_one(documents.CUSTOMER, "customer")


def list_customers(shop_id: int) -> bytes:
    row: bytes = fetch_row(CUSTOMERS, shop_id)[0]
    return row


def list_products(shop_id: int) -> bytes:
    row: bytes = fetch_row(PRODUCTS, shop_id)[0]
    return row


def list_orders(shop_id: int) -> bytes:
    row: bytes = fetch_row(ORDERS, shop_id)[0]
    return row


def get_customer(shop_id: int, pk: int) -> bytes | None:
    row = fetch_row(CUSTOMER, shop_id, pk)
    return row[0] if row else None


def make_customer(shop_id: int, body: dict[str, Any]) -> bytes:
    with get_connection().transaction():
        pk = create_customer(shop_id, body)
        row: bytes = fetch_row(CUSTOMER, shop_id, pk)[0]
        return row


application = create_application(
    Resource("customers", list_rows=list_customers, get_row=get_customer, create=make_customer),
    Resource("products", list_rows=list_products),
    Resource("orders", list_rows=list_orders),
)
