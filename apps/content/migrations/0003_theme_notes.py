from django.db import migrations

from apps.core.i18n.messages import MessageField


class Migration(migrations.Migration):
    dependencies = [("content", "0002_drop_shop_indexes")]

    operations = [
        migrations.AddField("theme", "notes", MessageField(blank=True, db_default="", default="", editable=False))
    ]
