from django.db import migrations, models

from apps.core.db.migration_operations import AddColumn


class Migration(migrations.Migration):
    dependencies = [("shops", "0011_shop_shipping_taxed")]

    operations = [
        AddColumn(
            model_name="shop",
            name="payment_instructions",
            field=models.TextField(
                blank=True,
                db_default="",
                default="",
                help_text="How customers pay invoices of draft orders, for example your bank account. The invoice page and the email show this text. Leave blank to ask customers to reply to the email or to contact the shop.",
                max_length=2000,
                verbose_name="payment instructions",
            ),
        ),
    ]
