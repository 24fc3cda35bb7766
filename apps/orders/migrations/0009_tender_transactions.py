from django.db import migrations, models
from django.db.models import Q

from apps.core.db.migration_operations import AddIndexWithoutBlocking

MOVED_MONEY = Q(kind__in=("capture", "refund", "sale"), status="success")


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("orders", "0008_index_owed_orders")]

    operations = [
        AddIndexWithoutBlocking(
            "transaction", models.Index(fields=("shop", "id"), condition=MOVED_MONEY, name="orders_tender_by_id")
        ),
        AddIndexWithoutBlocking(
            "transaction",
            models.Index(fields=("shop", "processed_at", "id"), condition=MOVED_MONEY, name="orders_tender_by_time"),
        ),
    ]
