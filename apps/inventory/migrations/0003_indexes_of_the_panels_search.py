import django.db.models.deletion
from django.db import migrations, models

from apps.ground.migration_operations import AddPostgresIndex, DropForeignKeyIndex, SetFillFactor


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("inventory", "0002_costs_in_every_currency"),
        ("shops", "0007_private_apps_have_owners"),
    ]

    operations = [
        SetFillFactor("inventorylevel", 85),
        AddPostgresIndex(
            "inventoryitem",
            "inventory_item_sku_beginnings",
            "(shop_id, upper(sku) text_pattern_ops)",
        ),
        AddPostgresIndex(
            "stockmovement",
            "inventory_movement_reference_beginnings",
            "(shop_id, upper(reference) text_pattern_ops)",
        ),
        DropForeignKeyIndex(
            model_name="inventoryitem",
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
            model_name="inventorylevel",
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
            model_name="inventorylevel",
            name="item",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="levels",
                to="inventory.inventoryitem",
            ),
        ),
    ]
