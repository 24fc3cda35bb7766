"""Floor A, in which the database builds the JSON and the server sends the bytes unchanged."""

from typing import Any

from benchmarks.floors import json_sql
from benchmarks.floors.common import Resource, create_application, fetch_row, get_connection
from benchmarks.floors.create_customer import create_customer

CUSTOMERS = json_sql.select_list(json_sql.CUSTOMER, "customers", "DESC")
PRODUCTS = json_sql.select_list(json_sql.PRODUCT, "products", "ASC")
ORDERS = json_sql.select_list(json_sql.ORDER, "orders", "DESC", only="r.status = 'open'")
CUSTOMER = json_sql.select_one(json_sql.CUSTOMER, "customer")


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
