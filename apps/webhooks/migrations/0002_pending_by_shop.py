from django.db import migrations, models

from apps.ground.indexes import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("webhooks", "0001_initial"),
    ]

    operations = [
        AddIndexBeside(
            model_name="pending",
            index=models.Index(fields=["shop", "id"], name="webhooks_pending_by_shop"),
        ),
    ]
