import django.db.models.deletion
from django.db import migrations, models

from apps.ground.indexes import AddIndexBeside, AddPartsIndexBeside, DropKeyIndex, LeaveRoom


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("catalog", "0008_indexes_of_folded_columns"),
        ("shops", "0007_private_apps_have_owners"),
    ]

    operations = [
        LeaveRoom("product", 80),
        LeaveRoom("variant", 85),
        AddIndexBeside(
            model_name="variant",
            index=models.Index(fields=["shop", "product", "position", "id"], name="catalog_variant_by_place"),
        ),
        AddPartsIndexBeside(
            "variant",
            "catalog_variant_title_beginnings",
            "(shop_id, title_key text_pattern_ops)",
        ),
        AddPartsIndexBeside(
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
        DropKeyIndex(
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
        DropKeyIndex(
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
