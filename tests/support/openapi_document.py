"""Our OpenAPI document with real values from a shop: existing ids, valid dates and addresses.

A request generator that knows only types gets mostly validation errors.
"""

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

from django.conf import settings

from apps.core.tenancy.models import App, Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Schema
from tests.support.factories.catalog import make_custom, make_product, make_smart
from tests.support.factories.content import make_article
from tests.support.factories.customers import make_address, make_customer
from tests.support.factories.fulfillment import make_event, make_fulfillment, make_service, route_order_now
from tests.support.factories.inventory import get_first_location
from tests.support.factories.orders import make_order
from tests.support.factories.refunds import refund_amount

Ids = Mapping[str, list[int]]

MOMENTS = ["2026-01-02T03:04:05Z", "2026-10-25T02:30:00+02:00"]
# Values that pass validation, by field name.
KNOWN: Mapping[str, Schema] = {
    "email": {"pattern": r"^[a-z]{8,12}@shop\.example$"},
    "phone": {"pattern": r"^\+4930[1-9][0-9]{6}$"},
    "password": {"enum": ["correct horse battery"]},
    "password_confirmation": {"enum": ["correct horse battery"]},
    "src": {"enum": ["https://shop.example/script.js"]},
    "namespace": {"pattern": "^[a-z]{3,20}$"},
    "key": {"pattern": "^[a-z]{3,20}$"},
    "value": {"type": "string", "pattern": "^[a-z]{1,20}$"},
    "type": {"enum": ["single_line_text_field"]},
    "fulfillment_service": {"enum": ["manual"]},
    "amount": {"enum": ["1.00", "2.50"]},
    "callback_url": {"enum": ["https://warehouse.example/"]},
    "restock_type": {"enum": ["no_restock", "cancel", "return"]},
    "line_items": {"minItems": 1},
    "rules": {"minItems": 1},
}


def make_rows(shop: Shop, app: App) -> Ids:
    """Create some rows of each type and return the ids by path segment. Nested ids are those of the first parent row.

    ``app`` owns the rows that only one app may change.
    """
    with shop_scope(shop):
        products = [make_product(f"Mug {number}", prices=("5.00", "7.00", "9.00")) for number in range(4)]
        articles = [make_article() for _ in range(4)]
        customers = [make_customer(email=f"{number}@shop.example") for number in range(4)]
        addresses = [make_address(customers[0], address1=f"Street {number}", city="Berlin") for number in range(3)]
        customs = [make_custom(f"Kitchen {number}", products[0]).pk for number in range(4)]
        return {
            "products": [product.pk for product in products],
            "variants": [variant.pk for variant in products[0].variants.order_by("pk")],
            "collections": customs,
            "custom_collections": customs,
            "smart_collections": [make_smart(f"Cheap {n}", ("title", "contains", "Mug")).pk for n in range(4)],
            "blogs": [article.blog_id for article in articles],
            "articles": [articles[0].pk],
            "customers": [customer.pk for customer in customers],
            "addresses": [address.pk for address in addresses],
            "locations": [get_first_location(shop).pk],
            "inventory_items": [variant.inventory_item_id for variant in products[0].variants.order_by("pk")],
            **_orders(),
            "fulfillment_services": [make_service(app).pk for _ in range(4)],
        }


def _orders() -> dict[str, list[int]]:
    """Create paid orders with fulfillment orders. The first order also gets fulfillments, events and refunds."""
    payment = {"kind": "sale", "amount": Decimal("50.00")}
    line = {"title": "Mug", "price": Decimal("10.00"), "quantity": 5}
    orders = [make_order(lines=[line], transactions=[payment]) for _ in range(4)]
    work = [route_order_now(order)[0] for order in orders]
    units = [{"id": work[0].lines.get().pk, "quantity": 1}]
    fulfillments = [make_fulfillment(work[0], lines=units) for _ in range(3)]
    refunds = [refund_amount(orders[0], "1.00") for _ in range(3)]
    return {
        "orders": [order.pk for order in orders],
        "line_items": [line.pk for line in orders[0].line_items.order_by("pk")],
        "fulfillment_orders": [row.pk for row in work],
        "fulfillments": [row.pk for row in fulfillments],
        "events": [make_event(fulfillments[0]).pk for _ in range(3)],
        "transactions": list(orders[0].transactions.order_by("pk").values_list("pk", flat=True)),
        "refunds": [refund.pk for refund in refunds],
    }


def write_description(ids: Ids, path: Path) -> Path:
    """Write the document to a file, with request schemas limited to the given ids. Response schemas are unchanged."""
    document: Schema = json.loads((Path(settings.BASE_DIR) / "docs" / "openapi.json").read_text())
    schemas = document["components"]["schemas"]
    for name in schemas:
        if name.endswith(("Create", "Update")):
            _narrow(schemas[name], ids)
    for address, operations in document["paths"].items():
        for operation in operations.values():
            # The examples contain ids of the demo shop.
            operation["parameters"] = [part for part in operation["parameters"] if part["name"] != "page_info"]
            for parameter in operation["parameters"]:
                parameter.pop("example", None)
                parameter["schema"] = _parameter(address, parameter, ids)
            if "requestBody" in operation:
                body = operation["requestBody"]["content"]["application/json"]
                body.pop("example", None)
                _narrow(body["schema"], ids)
    path.write_text(json.dumps(document))
    return path


def _parameter(address: str, parameter: Schema, ids: Ids) -> Schema:
    """Limit a parameter to valid values. Routes of a single row skip the first id, because other rows depend on it."""
    name, schema = parameter["name"], parameter["schema"]
    if parameter["in"] == "path":
        existing = ids.get(address.split(f"/{{{name}}}", maxsplit=1)[0].rsplit("/", 1)[-1], [])
        target = address.endswith(f"{{{name}}}.json") and len(existing) > 1
        return {**schema, "enum": existing[1:] if target else existing[:1]} if existing else dict(schema)
    if name.endswith(("_at_min", "_at_max")):
        return {**schema, "enum": MOMENTS}
    if name == "ids":
        return {**schema, "pattern": "^[1-9][0-9]{0,6}(,[1-9][0-9]{0,6}){0,3}$"}
    return {**schema, "minimum": 1} if schema.get("type") == "integer" else dict(schema)


def _narrow(schema: Schema, ids: Ids) -> None:
    members: Schema = schema.get("properties", {})
    for name, member in members.items():
        members[name] = _member(name, member, ids, required=name in schema.get("required", ()))
    for inner in (*members.values(), *schema.get("oneOf", ()), schema.get("items")):
        if inner:
            _narrow(inner, ids)


def _member(name: str, schema: Schema, ids: Ids, *, required: bool) -> Schema:
    types = schema.get("type", [])
    null = [None] if "null" in types else []
    if name in KNOWN and (name == "value" or "string" in types or "array" in types):
        return {**schema, **KNOWN[name]}
    if (existing := ids.get(f"{name.removesuffix('_id')}s")) and name.endswith("_id"):
        return {**schema, "enum": [*existing, *null]}
    if schema.get("format") == "date-time":
        return {**schema, "enum": [*MOMENTS, *null]}
    if schema.get("format") == "decimal":
        return {**schema, "enum": ["0.00", "12.50", *null]}
    if "integer" in types:
        return {"minimum": 1, "maximum": 1_000_000, **schema}
    return {**schema, "minLength": 1} if required and "string" in types else schema
