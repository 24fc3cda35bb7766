import django.db.models.deletion
from django.db import migrations, models

from apps.ground.sort_tables import DropSortTriggers


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0010_sources_of_pictures"),
        ("shops", "0011_staging_copies"),
    ]

    operations = [
        migrations.CreateModel(
            name="ProductRank",
            fields=[
                (
                    "of",
                    models.OneToOneField(
                        db_column="id",
                        db_constraint=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="ranked",
                        serialize=False,
                        to="catalog.product",
                    ),
                ),
                (
                    "shop",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="shops.shop",
                    ),
                ),
                ("updated_at", models.DateTimeField()),
                ("units_sold", models.PositiveBigIntegerField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["shop", "updated_at", "of"], name="catalog_rank_by_update"),
                    models.Index(fields=["shop", "-units_sold", "of"], name="catalog_rank_best_selling"),
                ],
            },
        ),
        migrations.RemoveIndex(model_name="product", name="catalog_product_best_selling"),
        migrations.RemoveIndex(model_name="product", name="catalog_product_by_update"),
        DropSortTriggers("ProductRank"),
    ]
