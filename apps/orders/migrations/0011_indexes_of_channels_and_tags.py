from django.db import migrations, models
from django.db.models.functions import Upper

from apps.ground.migration_operations import AddIndexWithoutBlocking, AddPostgresIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("orders", "0010_names"),
    ]

    operations = [
        AddIndexWithoutBlocking(
            model_name="order",
            index=models.Index(
                models.F("shop"),
                Upper("source_name"),
                models.F("id"),
                condition=models.Q(("source_name", ""), _negated=True),
                name="orders_order_by_channel",
            ),
        ),
        AddPostgresIndex(
            "order",
            "orders_order_by_tag",
            "USING gin (string_to_array(upper(tags), ', ')) WHERE tags <> ''",
        ),
    ]
