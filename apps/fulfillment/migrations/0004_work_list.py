import django.db.models.functions.comparison
from django.db import migrations, models

from apps.ground.migration_operations import AddIndexWithoutBlocking


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("fulfillment", "0003_fulfillment_orders"),
    ]

    operations = [
        AddIndexWithoutBlocking(
            model_name="fulfillmentorder",
            index=models.Index(
                models.F("shop"),
                django.db.models.functions.comparison.Coalesce("fulfill_by", "fulfill_at", "created_at"),
                models.F("id"),
                models.F("status"),
                models.F("request_status"),
                models.F("assigned_location"),
                models.F("fulfill_by"),
                condition=models.Q(("status__in", ["open", "scheduled", "on_hold", "in_progress"])),
                name="fulfillment_order_work",
            ),
        ),
        migrations.RemoveIndex(
            model_name="fulfillmentorder",
            name="fulfillment_order_by_status",
        ),
    ]
