from django.db import migrations, models

from apps.core.db.migration_operations import AddColumn


class Migration(migrations.Migration):
    dependencies = [("shops", "0002_initial")]

    operations = [
        AddColumn(
            "app",
            "contact_email",
            models.EmailField(blank=True, db_default="", default="", max_length=254, verbose_name="contact email"),
        )
    ]
