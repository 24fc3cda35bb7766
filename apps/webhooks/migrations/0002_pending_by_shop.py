from django.db import migrations, models

from apps.ground.migration_operations import AddIndexWithoutBlocking


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("webhooks", "0001_initial"),
    ]

    operations = [
        AddIndexWithoutBlocking(
            model_name="pending",
            index=models.Index(fields=["shop", "id"], name="webhooks_pending_by_shop"),
        ),
    ]
