from django.db import migrations, models

from apps.core.db.migration_operations import AddColumn


class Migration(migrations.Migration):
    dependencies = [("orders", "0006_presentment_totals")]

    operations = [
        AddColumn(
            "order",
            "current_tax_lines",
            models.JSONField(
                null=True,
                editable=False,
                help_text="The taxes without canceled and returned items, or null if they are equal to the tax lines.",
            ),
        )
    ]
