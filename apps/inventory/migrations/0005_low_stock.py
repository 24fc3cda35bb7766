from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("inventory", "0004_names"), ("shops", "0013_low_stock")]

    operations = [
        migrations.AddField(
            model_name="inventorylevel",
            name="is_low",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
    ]
