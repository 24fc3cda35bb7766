from django.db import migrations, models

from apps.ground.migration_operations import AddIndexWithoutBlocking


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("catalog", "0012_names")]

    operations = [
        AddIndexWithoutBlocking(
            model_name="product",
            index=models.Index(
                condition=models.Q(("published_scope", "global")), fields=["shop", "id"], name="catalog_product_global"
            ),
        ),
        AddIndexWithoutBlocking(
            model_name="variant",
            index=models.Index(fields=["shop", "price", "id"], name="catalog_variant_by_price"),
        ),
        AddIndexWithoutBlocking(
            model_name="variant",
            index=models.Index(
                condition=models.Q(("inventory_policy", "continue")),
                fields=["shop", "id"],
                name="catalog_variant_continued",
            ),
        ),
        AddIndexWithoutBlocking(
            model_name="variant",
            index=models.Index(
                condition=models.Q(("taxable", False)), fields=["shop", "id"], name="catalog_variant_untaxed"
            ),
        ),
    ]
