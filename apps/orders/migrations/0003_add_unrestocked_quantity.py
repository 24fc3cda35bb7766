from django.db import migrations, models

from apps.core.db.migration_operations import AddColumn


class Migration(migrations.Migration):
    dependencies = [("orders", "0002_drop_shop_indexes")]

    operations = [AddColumn("lineitem", "unrestocked_quantity", models.PositiveIntegerField(db_default=0, default=0))]
