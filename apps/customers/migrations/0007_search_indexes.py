"""Trigram indexes of the search columns on PostgreSQL; ``sqlite_fts`` creates the index of SQLite after ``migrate``."""

from django.db import migrations

NAME = "customers_customer_search"
DEFINITION = (
    "customers_customer USING gin (search_text gin_trgm_ops, search_own gin_trgm_ops, search_places gin_trgm_ops)"
)


def create(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"CREATE INDEX {NAME} ON {DEFINITION}")


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP INDEX {NAME}")


class Migration(migrations.Migration):

    dependencies = [
        ("customers", "0006_renew_search_columns"),
    ]

    operations = [
        migrations.RunPython(create, drop),
    ]
