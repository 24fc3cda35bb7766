from django.db import migrations

from apps.core.db.migration_operations import DropShopIndexes


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("webhooks", "0003_delivery_event_order")]

    operations = [DropShopIndexes("delivery", "endpoint", "pending", "subscription")]
