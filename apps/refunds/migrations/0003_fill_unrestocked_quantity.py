import time

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import Sum

_BATCH = 500


def fill_unrestocked_quantities(apps: Apps, schema_editor: BaseDatabaseSchemaEditor | None) -> None:
    """Set the quantity of each line item that was refunded without restocking.

    Orders with such items are not "restocked". The new version of the orders ends the use of stored responses.
    """
    line_model, order_model = apps.get_model("orders", "LineItem"), apps.get_model("orders", "Order")
    refunded = apps.get_model("refunds", "RefundLineItem").objects.filter(restock_type="no_restock").order_by()
    sums = refunded.values_list("line_item_id").annotate(Sum("quantity")).order_by("line_item_id")
    last = 0
    while batch := dict(sums.filter(line_item_id__gt=last)[:_BATCH]):
        last = max(batch)
        lines = [line_model(pk=pk, unrestocked_quantity=quantity) for pk, quantity in batch.items()]
        line_model.objects.bulk_update(lines, ["unrestocked_quantity"])
        order_ids = line_model.objects.filter(pk__in=list(batch)).values("order_id")
        orders = order_model.objects.filter(pk__in=order_ids)
        orders.filter(fulfillment_status="restocked").update(fulfillment_status="")
        orders.update(version=time.time_ns())


class Migration(migrations.Migration):
    dependencies = [
        ("refunds", "0002_drop_shop_indexes"),
        ("orders", "0003_add_unrestocked_quantity"),
    ]
    atomic = False

    operations = [migrations.RunPython(fill_unrestocked_quantities, migrations.RunPython.noop)]
