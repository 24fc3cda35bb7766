"""Fills the profiles on PostgreSQL in short transactions, while others write; then the customers' own indexes go.

SQLite, which has one writer anyway, fills them behind the migrations.
"""

from django.db import migrations

from apps.ground import ranks


def fill(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        ranks.ensure(apps.get_model("customers", "CustomerProfile"), schema_editor.connection.alias)


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
