from django.db import migrations, models

from apps.ground.migration_operations import AddIndexWithoutBlocking


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0011_indexes_of_channels_and_tags")]

    operations = [
        AddIndexWithoutBlocking(
            model_name="order",
            index=models.Index(
                condition=models.Q(("status", "open")),
                fields=["shop", "processed_at", "id"],
                name="orders_order_open_by_date",
            ),
        ),
        AddIndexWithoutBlocking(
            model_name="order",
            index=models.Index(
                condition=models.Q(("status", "open")),
                fields=["shop", "total_price", "id"],
                name="orders_order_open_by_total",
            ),
        ),
    ]
