from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("customers", "0008_indexes_of_sorts"),
    ]

    operations = [
        migrations.AddField(
            model_name="customer",
            name="erasing_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
    ]
