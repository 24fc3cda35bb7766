from django.db import migrations, models
from django.db.models import F, Q

from apps.core.db.migration_operations import AddIndexWithoutBlocking


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0007_add_current_tax_lines")]

    operations = [
        AddIndexWithoutBlocking(
            "order",
            models.Index(
                condition=Q(total_paid__gt=F("total_refunded") + F("current_total_price")),
                fields=["shop", "id"],
                name="orders_order_owed",
            ),
        ),
    ]
