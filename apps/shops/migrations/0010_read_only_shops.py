from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("shops", "0009_retired_apps"),)

    operations = (
        migrations.AddField(
            model_name="shop",
            name="read_only_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
    )
