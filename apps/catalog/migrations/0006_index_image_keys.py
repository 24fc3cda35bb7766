from django.db import migrations, models
from django.db.models import Q

from apps.core.db.migration_operations import AddIndexWithoutBlocking, DropShopIndexes


class Migration(migrations.Migration):
    """Index the image keys, because an image file is only deleted if no other row refers to its key."""

    atomic = False

    dependencies = [("catalog", "0005_product_feedback")]

    operations = [
        AddIndexWithoutBlocking(
            "productimage", models.Index(fields=["shop", "key"], name="catalog_image_by_key")
        ),
        AddIndexWithoutBlocking(
            "collection",
            models.Index(
                condition=~Q(image_key=""), fields=["shop", "image_key"], name="catalog_collection_by_image"
            ),
        ),
        DropShopIndexes("productimage"),
    ]
