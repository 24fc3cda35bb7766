from django.db import migrations, models

from apps.ground.indexes import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("catalog", "0012_names")]

    operations = [
        AddIndexBeside(
            model_name="product",
            index=models.Index(
                condition=models.Q(("published_scope", "global")), fields=["shop", "id"], name="catalog_product_global"
            ),
        ),
        AddIndexBeside(
            model_name="variant",
            index=models.Index(fields=["shop", "price", "id"], name="catalog_variant_by_price"),
        ),
        AddIndexBeside(
            model_name="variant",
            index=models.Index(
                condition=models.Q(("inventory_policy", "continue")),
                fields=["shop", "id"],
                name="catalog_variant_continued",
            ),
        ),
        AddIndexBeside(
            model_name="variant",
            index=models.Index(
                condition=models.Q(("taxable", False)), fields=["shop", "id"], name="catalog_variant_untaxed"
            ),
        ),
    ]
