"""Split the search text into columns by source, with email and phone first and room for long names."""

from django.db import migrations, models

from apps.customers.domain import sqlite_fts


def forget_index(apps, schema_editor):
    sqlite_fts.drop_search_index(schema_editor.connection.alias)


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
