"""Fills the table of words on PostgreSQL in short transactions, while others write, and moves the index to it.

The index is built when the table is full, which takes less than one entry after the other. The one on the customers goes
last: until then the processes of the release before read it.
"""

from django.db import migrations

from apps.ground import ranks
from apps.ground.indexes import AddPartsIndexBeside, DropPartsIndexBeside

COLUMNS = "USING gin (search_text gin_trgm_ops, search_own gin_trgm_ops, search_places gin_trgm_ops)"
OLD = "customers_customer_search"


def fill(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        ranks.ensure(apps.get_model("customers", "CustomerWords"), schema_editor.connection.alias)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("customers", "0012_words"),
    ]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
        AddPartsIndexBeside("customerwords", "customers_words_search", COLUMNS),
        DropPartsIndexBeside("customer", OLD, COLUMNS),
    ]
