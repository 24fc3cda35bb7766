from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("shops", "0008_one_time_purchases"),)

    operations = (
        migrations.AddField(
            model_name="app",
            name="retired_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
    )
