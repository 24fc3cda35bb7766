from django.db import migrations
from django.db.models import F


def void_canceled_orders(apps, schema_editor):
    """Set the financial status of canceled orders without payments, for which nothing is owed.

    Read-only shops are left out, because they accept no changes.
    """
    orders = apps.get_model("orders", "Order").objects.filter(shop__read_only_at=None)
    orders = orders.filter(status="cancelled", financial_status="pending")
    orders.update(financial_status="voided", version=F("version") + 1)


class Migration(migrations.Migration):
    dependencies = [("orders", "0003_add_unrestocked_quantity")]

    operations = [migrations.RunPython(void_canceled_orders, migrations.RunPython.noop)]
