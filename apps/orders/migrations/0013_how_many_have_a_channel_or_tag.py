from django.db import migrations

from apps.ground.migration_operations import AddExpressionStatistics


class Migration(migrations.Migration):
    dependencies = [("orders", "0012_indexes_of_open_orders")]

    operations = [
        AddExpressionStatistics("order", "orders_order_channels", "upper(source_name)"),
        AddExpressionStatistics("order", "orders_order_tags", "string_to_array(upper(tags), ', ')"),
    ]
