from django.db import migrations

from apps.core.db.migration_operations import AddPostgresIndex


class Migration(migrations.Migration):
    """Index the names of imported orders, which are searched by parts."""

    atomic = False

    dependencies = (("orders", "0010_order_risks"),)

    operations = (
        AddPostgresIndex(
            "order", "orders_order_name_parts", "USING gin (upper(name) gin_trgm_ops) WHERE name !~ '^#[0-9]+$'"
        ),
    )
