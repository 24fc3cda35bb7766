from django.db import migrations, models

from apps.core.db.migration_operations import AddColumn


class Migration(migrations.Migration):
    dependencies = [("orders", "0005_round_refunded_shipping")]

    operations = [
        AddColumn(
            "order",
            "presentment_totals",
            models.JSONField(
                db_default=models.Value({}, models.JSONField()),
                default=dict,
                editable=False,
                help_text="The amounts of the columns above in the presentment currency, "
                "unless it is the order's currency.",
            ),
        )
    ]
