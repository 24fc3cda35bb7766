from django.db import migrations, models

from apps.ground.migration_operations import AddIndexWithoutBlocking


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("orders", "0007_indexes_of_pairs"),
    ]

    operations = [
        AddIndexWithoutBlocking(
            model_name="transaction",
            index=models.Index(
                condition=models.Q(("kind", "refund"), ("status__in", ("failure", "error"))),
                fields=["shop", "id"],
                name="orders_transaction_failed",
            ),
        ),
    ]
