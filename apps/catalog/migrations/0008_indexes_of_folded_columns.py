from django.contrib.postgres.operations import TrigramExtension
from django.db import migrations, models

TITLES = "catalog_product_title_parts"


def create(apps, schema_editor):
    """Index product titles for substring search in the panel; SQLite scans the titles of the shop instead."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"CREATE INDEX {TITLES} ON catalog_product USING gin (title_key gin_trgm_ops)")


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP INDEX {TITLES}")


class Migration(migrations.Migration):

    dependencies = [
        ("catalog", "0007_fold_what_is_there"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="product",
            name="catalog_product_by_title",
        ),
        migrations.RemoveIndex(
            model_name="product",
            name="catalog_product_by_title_desc",
        ),
        migrations.RemoveIndex(
            model_name="product",
            name="catalog_product_by_vendor",
        ),
        migrations.RemoveIndex(
            model_name="product",
            name="catalog_product_by_type",
        ),
        migrations.AddIndex(
            model_name="product",
            index=models.Index(fields=["shop", "title_key", "id"], name="catalog_product_by_title"),
        ),
        migrations.AddIndex(
            model_name="product",
            index=models.Index(fields=["shop", "-title_key", "id"], name="catalog_product_by_title_desc"),
        ),
        migrations.AddIndex(
            model_name="product",
            index=models.Index(fields=["shop", "vendor_key", "id"], name="catalog_product_by_vendor"),
        ),
        migrations.AddIndex(
            model_name="product",
            index=models.Index(fields=["shop", "product_type_key", "id"], name="catalog_product_by_type"),
        ),
        TrigramExtension(),
        migrations.RunPython(create, drop),
    ]
