from django.db import migrations

from apps.ground.indexes import AddPartsIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("catalog", "0013_indexes_of_lists"),
    ]

    operations = [
        AddPartsIndexBeside(
            "product",
            "catalog_product_vendor_beginnings",
            "(shop_id, vendor_key text_pattern_ops, id)",
        ),
    ]
