from django.db import migrations

from apps.core.db.migration_operations import DropShopIndexes


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0001_initial")]

    operations = [DropShopIndexes("ordercounter")]
