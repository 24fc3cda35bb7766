from django.db import migrations, models
from django.db.models.functions import Upper

from apps.ground.migration_operations import AddIndexWithoutBlocking, AddPostgresIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("orders", "0008_failed_refunds"),
    ]

    operations = [
        AddIndexWithoutBlocking(
            model_name="lineitem",
            index=models.Index(
                models.F("shop"),
                Upper("sku"),
                models.F("order"),
                condition=models.Q(("sku", ""), _negated=True),
                name="orders_lineitem_by_sku",
            ),
        ),
        AddIndexWithoutBlocking(
            model_name="transaction",
            index=models.Index(
                condition=models.Q(("authorization", ""), _negated=True),
                fields=["shop", "authorization"],
                name="orders_transaction_by_code",
            ),
        ),
        AddPostgresIndex(
            "order",
            "orders_order_by_city",
            "(shop_id, upper(((shipping_address ->> 'city'))::text), id)",
        ),
        AddPostgresIndex(
            "order",
            "orders_order_tag_parts",
            "USING gin (upper(tags) gin_trgm_ops) WHERE tags <> ''",
        ),
    ]
