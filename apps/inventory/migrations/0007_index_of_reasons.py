from django.db import migrations, models

from apps.ground.migration_operations import AddIndexWithoutBlocking


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("inventory", "0006_index_of_low_stock")]

    operations = [
        AddIndexWithoutBlocking(
            model_name="stockmovement",
            index=models.Index(
                condition=models.Q(("reason", "sale"), _negated=True),
                fields=["shop", "reason", "-id"],
                name="inventory_movement_by_reason",
            ),
        ),
    ]
