from django.db import migrations, models

from apps.ground.migration_operations import AddIndexWithoutBlocking


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("inventory", "0005_low_stock")]

    operations = [
        AddIndexWithoutBlocking(
            model_name="inventorylevel",
            index=models.Index(
                condition=models.Q(is_low=True), fields=["shop", "item"], name="inventory_level_low"
            ),
        ),
    ]
