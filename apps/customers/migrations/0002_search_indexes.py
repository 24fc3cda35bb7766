"""Trigram indexes for searches on PostgreSQL; ``sqlite_fts`` creates the index of SQLite after ``migrate``."""

from django.contrib.postgres.operations import TrigramExtension
from django.db import migrations

INDEXES = {
    "customers_customer_search": "customers_customer USING gin (search_text gin_trgm_ops, UPPER(tags) gin_trgm_ops,"
    " UPPER(note) gin_trgm_ops)",
    "customers_address_search": "customers_address USING gin (UPPER(city) gin_trgm_ops, UPPER(company) gin_trgm_ops,"
    " UPPER(zip) gin_trgm_ops, UPPER(province) gin_trgm_ops)",
}


def create(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for name, definition in INDEXES.items():
            schema_editor.execute(f"CREATE INDEX {name} ON {definition}")


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for name in INDEXES:
            schema_editor.execute(f"DROP INDEX {name}")


class Migration(migrations.Migration):

    dependencies = [
        ("customers", "0001_initial"),
    ]

    operations = [
        TrigramExtension(),
        migrations.RunPython(create, drop),
    ]
