from django.db import migrations

from apps.ground.migration_operations import AddPostgresIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("catalog", "0013_indexes_of_lists"),
    ]

    operations = [
        AddPostgresIndex(
            "product",
            "catalog_product_vendor_beginnings",
            "(shop_id, vendor_key text_pattern_ops, id)",
        ),
    ]
