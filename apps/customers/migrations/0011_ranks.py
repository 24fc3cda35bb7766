import django.db.models.deletion
from django.db import migrations, models

from apps.ground.sort_tables import DropSortTriggers


class Migration(migrations.Migration):
    dependencies = [
        ("customers", "0010_names"),
        ("shops", "0011_staging_copies"),
    ]

    operations = [
        migrations.CreateModel(
            name="CustomerRank",
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
                        to="customers.customer",
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
                ("last_order_at", models.DateTimeField()),
                ("orders_count", models.PositiveIntegerField()),
                ("total_spent", models.DecimalField(decimal_places=3, max_digits=20)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["shop", "updated_at", "of"], name="customers_rank_by_update"),
                    models.Index(fields=["shop", "last_order_at", "of"], name="customers_rank_by_last_order"),
                    models.Index(fields=["shop", "orders_count", "of"], name="customers_rank_by_orders"),
                    models.Index(fields=["shop", "total_spent", "of"], name="customers_rank_by_spending"),
                ],
            },
        ),
        migrations.RemoveIndex(model_name="customer", name="customers_customer_by_update"),
        migrations.RemoveIndex(model_name="customer", name="customers_customer_by_order"),
        migrations.RemoveIndex(model_name="customer", name="customers_customer_by_orders"),
        migrations.RemoveIndex(model_name="customer", name="customers_customer_by_spending"),
        DropSortTriggers("CustomerRank"),
    ]
