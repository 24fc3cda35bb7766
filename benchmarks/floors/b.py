"""Floor B, in which all documents are stored as JSON in a table. Writes update documents in the same transaction."""

from typing import Any

from benchmarks.floors import json_sql
from benchmarks.floors.common import Resource, create_application, fetch_row, get_connection
from benchmarks.floors.create_customer import create_customer

TABLE = "bench_documents"
FILL = f"""
DROP TABLE IF EXISTS {TABLE};
CREATE TABLE {TABLE} (shop_id bigint, kind text, id bigint, body text, PRIMARY KEY (shop_id, kind, id));
INSERT INTO {TABLE} SELECT {{shop}}, 'customer', x.id, row_to_json(x)::text FROM ({json_sql.CUSTOMER}) x;
"""
_MANY = f"SELECT body FROM {TABLE} WHERE shop_id = %s AND kind = 'customer' ORDER BY id DESC LIMIT 50"
_ONE = f"SELECT body FROM {TABLE} WHERE shop_id = %s AND kind = 'customer' AND id = %s"
_STORE = f"""
INSERT INTO {TABLE} SELECT %s, 'customer', x.id, row_to_json(x)::text
FROM ({json_sql.CUSTOMER} WHERE r.shop_id = %s AND r.id = %s) x
RETURNING body
"""


def list_customers(shop_id: int) -> bytes:
    rows = get_connection().execute(_MANY, (shop_id,), prepare=True).fetchall()
    return b'{"customers":[' + b",".join([row[0] for row in rows]) + b"]}"


def get_customer(shop_id: int, pk: int) -> bytes | None:
    row = fetch_row(_ONE, shop_id, pk)
    return b'{"customer":' + row[0] + b"}" if row else None


def make_customer(shop_id: int, body: dict[str, Any]) -> bytes:
    with get_connection().transaction():
        pk = create_customer(shop_id, body)
        row: bytes = fetch_row(_STORE, shop_id, shop_id, pk)[0]
        return b'{"customer":' + row + b"}"


application = create_application(
    Resource("customers", list_rows=list_customers, get_row=get_customer, create=make_customer)
)
