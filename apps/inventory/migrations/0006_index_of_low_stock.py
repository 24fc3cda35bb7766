from django.db import migrations, models

from apps.ground.indexes import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("inventory", "0005_low_stock")]

    operations = [
        AddIndexBeside(
            model_name="inventorylevel",
            index=models.Index(
                condition=models.Q(is_low=True), fields=["shop", "item"], name="inventory_level_low"
            ),
        ),
    ]
