import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("shops", "0012_names")]

    operations = [
        migrations.AddField(
            model_name="shop",
            name="low_stock_at",
            field=models.PositiveSmallIntegerField(
                blank=True,
                help_text=(
                    "Where so many or fewer of an item are left at a location, it is listed as low in stock. "
                    "Empty: nothing is."
                ),
                null=True,
                validators=[django.core.validators.MaxValueValidator(30000)],
                verbose_name="low stock at",
            ),
        ),
    ]
