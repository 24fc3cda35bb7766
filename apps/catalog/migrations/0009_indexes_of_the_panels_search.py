import django.db.models.deletion
from django.db import migrations, models

from apps.ground.migration_operations import AddIndexWithoutBlocking, AddPostgresIndex, DropForeignKeyIndex, SetFillFactor


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("catalog", "0008_indexes_of_folded_columns"),
        ("shops", "0007_private_apps_have_owners"),
    ]

    operations = [
        SetFillFactor("product", 80),
        SetFillFactor("variant", 85),
        AddIndexWithoutBlocking(
            model_name="variant",
            index=models.Index(fields=["shop", "product", "position", "id"], name="catalog_variant_by_place"),
        ),
        AddPostgresIndex(
            "variant",
            "catalog_variant_title_beginnings",
            "(shop_id, title_key text_pattern_ops)",
        ),
        AddPostgresIndex(
            "product",
            "catalog_product_handle_beginnings",
            "(shop_id, upper(handle) text_pattern_ops)",
        ),
        migrations.RemoveIndex(
            model_name="variant",
            name="catalog_variant_by_position",
        ),
        migrations.RemoveIndex(
            model_name="variant",
            name="catalog_variant_by_stock",
        ),
        DropForeignKeyIndex(
            model_name="variant",
            name="shop",
            field=models.ForeignKey(
                db_index=False,
                editable=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="shops.shop",
            ),
        ),
        DropForeignKeyIndex(
            model_name="product",
            name="shop",
            field=models.ForeignKey(
                db_index=False,
                editable=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="shops.shop",
            ),
        ),
    ]
