import django.db.models.deletion
from django.db import migrations, models

from apps.ground.migration_operations import AddIndexWithoutBlocking, DropForeignKeyIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("orders", "0006_duties"),
        ("customers", "0008_indexes_of_sorts"),
        ("shops", "0007_private_apps_have_owners"),
    ]

    operations = [
        AddIndexWithoutBlocking(
            model_name="order",
            index=models.Index(fields=["shop", "status", "financial_status", "id"], name="orders_order_by_debt"),
        ),
        AddIndexWithoutBlocking(
            model_name="order",
            index=models.Index(fields=["shop", "status", "fulfillment_status", "id"], name="orders_order_by_work"),
        ),
        AddIndexWithoutBlocking(
            model_name="order",
            index=models.Index(condition=models.Q(("test", True)), fields=["shop", "id"], name="orders_order_tests"),
        ),
        AddIndexWithoutBlocking(
            model_name="order",
            index=models.Index(fields=["customer", "processed_at", "id"], name="orders_order_of_customer_last"),
        ),
        migrations.RemoveIndex(
            model_name="order",
            name="orders_order_of_customer",
        ),
        DropForeignKeyIndex(
            model_name="order",
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
