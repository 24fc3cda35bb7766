"""Find a row in each table of the big shop, for requests by id."""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.test import Client

ROOT = "/admin/api/2026-10"


def get_row_ids(shop_id: int) -> dict[str, int]:
    """Return the lowest id in each table, keyed by the last segment of the route's path."""
    from django.apps import apps
    from django.db import connection

    tables = {
        str(model._meta.verbose_name_plural).replace(" ", "_"): model._meta.db_table
        for model in apps.get_models()
        if model.__module__.startswith("apps.") and {"id", "shop"} <= {field.name for field in model._meta.fields}
    }
    counts: dict[str, int] = {}
    with connection.cursor() as cursor:
        for name, table in tables.items():
            cursor.execute(f'SELECT min(id) FROM "{table}" WHERE shop_id = %s', [shop_id])
            (pk,) = cursor.fetchone()
            if pk is not None:
                counts[name] = pk
        cursor.execute("SELECT kind, min(id) FROM catalog_collection WHERE shop_id = %s GROUP BY kind", [shop_id])
        counts |= {f"{kind}_collections": pk for kind, pk in cursor.fetchall()}
    # Some routes and tables have different names. For orders, use the id of an order that has all related rows.
    aliases = {"images": "product_images", "webhooks": "subscriptions", "payment_handlers": "payment_handler_configs"}
    counts |= {route: counts[table] for route, table in aliases.items() if table in counts}
    return counts | _order_with_everything(shop_id)


def _order_with_everything(shop_id: int) -> dict[str, int]:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT order_id, min(id) FROM orders_transaction WHERE shop_id = %s GROUP BY 1 ORDER BY 1 LIMIT 1",
            [shop_id],
        )
        row = cursor.fetchone()
    return {"orders": row[0], "transactions": row[1]} if row else {}


def create_missing_rows(client: "Client", shop_id: int) -> None:
    """Create rows that the filled tables lack: a paid order, a script tag, a webhook and a shop metafield."""
    from django.db.models import F

    from apps.orders.models import OrderCounter

    # Skip the order numbers that are needed for orders inserted later.
    OrderCounter._base_manager.filter(shop_id=shop_id).update(last_number=F("last_number") + 10_000_000)
    lines = [{"title": "Mug", "price": "10.00", "quantity": 2}]
    payment = [{"kind": "sale", "status": "success", "amount": "20.00"}]
    bodies: dict[str, object] = {
        "orders.json": {"order": {"line_items": lines, "transactions": payment}},
        "script_tags.json": {"script_tag": {"event": "onload", "src": "https://scripts.example/a.js"}},
        "webhooks.json": {
            "webhook": {"topic": "orders/create", "address": "https://hooks.example/a", "format": "json"}
        },
        "metafields.json": {
            "metafield": {"namespace": "shop", "key": "motto", "type": "single_line_text_field", "value": "x"}
        },
    }
    for path, body in bodies.items():
        client.post(f"{ROOT}/{path}", json.dumps(body), content_type="application/json")
