"""The search columns in their new form: by field, e-mail and phone first, and whole however long the names are."""

from django.db import migrations, models

from apps.customers.domain import full_text


def forget_index(apps, schema_editor):
    full_text.remove(schema_editor.connection.alias)


class Migration(migrations.Migration):

    dependencies = [
        ("customers", "0004_addresses_keep_blank_lines"),
    ]

    operations = [
        migrations.RunPython(forget_index, forget_index),
        migrations.AddField(
            model_name="customer",
            name="search_own",
            field=models.TextField(blank=True, default="", editable=False),
        ),
        migrations.AddField(
            model_name="customer",
            name="search_places",
            field=models.TextField(blank=True, default="", editable=False),
        ),
    ]
