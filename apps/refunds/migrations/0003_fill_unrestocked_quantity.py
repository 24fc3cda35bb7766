import time

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import Q, Sum

_BATCH = 500


def fill_unrestocked_quantities(apps: Apps, schema_editor: BaseDatabaseSchemaEditor | None) -> None:
    """Set the quantity of each line item that was refunded without restocking.

    After an edit, earlier versions did not remove all of these items from the current quantity. Items that are neither
    current nor at the customer nor waiting are therefore not counted, except in canceled orders, where no items wait.

    Read-only shops are left out, because they accept no changes. Orders with such items are not "restocked". The new version of the orders ends the use of stored responses.
    """
    line_model, order_model = apps.get_model("orders", "LineItem"), apps.get_model("orders", "Order")
    refunded = apps.get_model("refunds", "RefundLineItem").objects.filter(shop__read_only_at=None).order_by()
    no_restock, returned = (Sum("quantity", filter=Q(restock_type=kind)) for kind in ("no_restock", "return"))
    sums = refunded.values("line_item_id").annotate(no_restock=no_restock, returned=returned)
    sums = sums.filter(no_restock__gt=0).order_by("line_item_id")
    last = 0
    while batch := {row["line_item_id"]: row for row in sums.filter(line_item_id__gt=last)[:_BATCH]}:
        last = max(batch)
        lines = list(line_model.objects.filter(pk__in=list(batch)).select_related("order"))
        for line in lines:
            line.unrestocked_quantity = batch[line.pk]["no_restock"]
            if line.order.cancelled_at is None:
                present = line.fulfillable_quantity + line.fulfilled_quantity - (batch[line.pk]["returned"] or 0)
                line.unrestocked_quantity = max(0, min(line.unrestocked_quantity, present - line.current_quantity))
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
