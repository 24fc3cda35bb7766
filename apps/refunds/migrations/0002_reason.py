from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("refunds", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="refund",
            name="reason",
            field=models.CharField(
                blank=True,
                choices=[
                    ("restock", "Restocking fee"),
                    ("damage", "Damage"),
                    ("customer", "Goodwill"),
                    ("other", "Other"),
                ],
                db_default="",
                max_length=8,
            ),
        ),
    ]
