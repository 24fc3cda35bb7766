from django.db import migrations

from apps.ground.indexes import CountExpression


class Migration(migrations.Migration):
    dependencies = [("orders", "0012_indexes_of_open_orders")]

    operations = [
        CountExpression("order", "orders_order_channels", "upper(source_name)"),
        CountExpression("order", "orders_order_tags", "string_to_array(upper(tags), ', ')"),
    ]
