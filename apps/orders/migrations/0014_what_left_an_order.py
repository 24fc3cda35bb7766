from decimal import Decimal

from django.db import migrations

import apps.orders.models.orders


class Migration(migrations.Migration):
    dependencies = [("orders", "0013_how_many_have_a_channel_or_tag")]

    operations = [
        migrations.AddField(
            model_name="order",
            name="total_removed",
            field=apps.orders.models.orders.MoneyColumn(
                db_default=0,
                decimal_places=3,
                default=Decimal("0"),
                editable=False,
                help_text="What the units came to that left the order without a refund, with their taxes.",
                max_digits=20,
            ),
        ),
    ]
