"""Fill ``CustomerProfile`` on PostgreSQL in short transactions without blocking writers, then drop the old indexes.

SQLite has only one writer, so its profiles are filled after the migrations.
"""

from django.db import migrations

from apps.ground import sort_tables


def fill(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        sort_tables.create_sort_triggers(apps.get_model("customers", "CustomerProfile"), schema_editor.connection.alias)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("customers", "0014_profiles"),
    ]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.RemoveIndex(model_name="customer", name="customers_customer_by_name"),
        migrations.RemoveIndex(model_name="customer", name="customers_customer_by_first"),
        migrations.RemoveIndex(model_name="customer", name="customers_customer_by_email"),
    ]
