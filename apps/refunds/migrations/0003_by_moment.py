from django.db import migrations, models

from apps.ground.indexes import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("refunds", "0002_reason")]

    operations = [
        AddIndexBeside(
            model_name="refund",
            index=models.Index(fields=["shop", "processed_at", "id"], name="refunds_refund_by_moment"),
        ),
    ]
