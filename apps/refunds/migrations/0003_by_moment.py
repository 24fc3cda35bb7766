from django.db import migrations, models

from apps.ground.migration_operations import AddIndexWithoutBlocking


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("refunds", "0002_reason")]

    operations = [
        AddIndexWithoutBlocking(
            model_name="refund",
            index=models.Index(fields=["shop", "processed_at", "id"], name="refunds_refund_by_moment"),
        ),
    ]
