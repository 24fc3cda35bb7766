from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("inventory", "0002_drop_shop_indexes")]

    operations = [
        migrations.AlterField(
            model_name="inventoryitem",
            name="cost",
            field=models.DecimalField(
                blank=True,
                decimal_places=3,
                help_text="The cost per item in the shop currency.",
                max_digits=15,
                null=True,
                verbose_name="cost",
            ),
        ),
    ]
