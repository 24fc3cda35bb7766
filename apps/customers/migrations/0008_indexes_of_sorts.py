import django.db.models.deletion
from django.db import migrations, models

from apps.ground.migration_operations import AddIndexWithoutBlocking, DropForeignKeyIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("customers", "0007_search_indexes"),
        ("shops", "0007_private_apps_have_owners"),
    ]

    operations = [
        AddIndexWithoutBlocking(
            model_name="customer",
            index=models.Index(fields=["shop", "first_name", "id"], name="customers_customer_by_first"),
        ),
        AddIndexWithoutBlocking(
            model_name="customer",
            index=models.Index(fields=["shop", "state", "id"], name="customers_customer_by_state"),
        ),
        AddIndexWithoutBlocking(
            model_name="customer",
            index=models.Index(condition=models.Q(("tax_exempt", True)), fields=["shop", "id"], name="customers_customer_tax_exempt"),
        ),
        AddIndexWithoutBlocking(
            model_name="customer",
            index=models.Index(fields=["shop", "email_key", "id"], name="customers_customer_by_email"),
        ),
        migrations.RemoveIndex(
            model_name="customer",
            name="customers_customer_no_email",
        ),
        DropForeignKeyIndex(
            model_name="customer",
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
