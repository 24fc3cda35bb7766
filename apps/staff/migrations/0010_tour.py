from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("staff", "0009_names")]

    operations = [
        migrations.AddField("user", "tour_ended_at", models.DateTimeField(blank=True, editable=False, null=True)),
    ]
