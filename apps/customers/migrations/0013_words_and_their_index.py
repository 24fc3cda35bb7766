"""Fill ``CustomerWords`` on PostgreSQL in short transactions without blocking writers, and move the index to it.

Building the index on the full table is faster than inserting entries one by one. The index on the customers table is
dropped last, because processes of the previous release use it until then.
"""

from django.db import migrations

from apps.ground import sort_tables
from apps.ground.migration_operations import AddPostgresIndex, DropPostgresIndex

COLUMNS = "USING gin (search_text gin_trgm_ops, search_own gin_trgm_ops, search_places gin_trgm_ops)"
OLD = "customers_customer_search"


def fill(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        sort_tables.create_sort_triggers(apps.get_model("customers", "CustomerWords"), schema_editor.connection.alias)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("customers", "0012_words"),
    ]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
        AddPostgresIndex("customerwords", "customers_words_search", COLUMNS),
        DropPostgresIndex("customer", OLD, COLUMNS),
    ]
