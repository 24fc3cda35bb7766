from django.db import migrations

from apps.core.db.migration_operations import DropShopIndexes


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("jobs", "0003_worker_processes")]

    operations = [DropShopIndexes("job")]
