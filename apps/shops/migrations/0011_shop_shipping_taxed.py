from django.db import migrations, models

from apps.core.db.migration_operations import AddColumn


class Migration(migrations.Migration):
    dependencies = [("shops", "0010_shop_invoices_from")]

    operations = [
        AddColumn(
            model_name="shop",
            name="shipping_taxed",
            field=models.BooleanField(db_default=False, default=False, verbose_name="tax is charged on shipping"),
        ),
    ]
