"""Works out what left the orders of which something did; by batches, each in a transaction of its own."""

from collections import defaultdict
from decimal import Decimal

from django.db import migrations
from django.db.models import F

from apps.ground.money import calculate_portion

AT_ONCE = 2_000


def work_out(apps, schema_editor):
    orders, lines = apps.get_model("orders", "Order").objects, apps.get_model("orders", "LineItem").objects
    short = lines.filter(quantity__gt=F("current_quantity") + F("refunded_quantity"))
    last = 0
    while ids := list(
        short.filter(order__gt=last).order_by("order").values_list("order", flat=True).distinct()[:AT_ONCE]
    ):
        removed = defaultdict(Decimal)
        for line in short.filter(order__in=ids).select_related("order"):
            removed[line.order] += worth(line, line.current_quantity + line.refunded_quantity)
        for order, amount in removed.items():
            order.total_removed = amount
        orders.bulk_update(removed, ["total_removed"])
        last = ids[-1]


def worth(line, sold):
    """What the other units of a line came to."""

    def of(amount):
        return amount - calculate_portion(amount, sold, line.quantity, line.order.currency)

    taxes = 0 if line.order.taxes_included else of(line.tax)
    return line.price * (line.quantity - sold) - of(line.discount) + taxes


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0014_what_left_an_order")]

    operations = [migrations.RunPython(work_out, migrations.RunPython.noop)]
