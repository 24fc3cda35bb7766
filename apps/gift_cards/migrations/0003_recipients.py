import django.db.models.deletion
from django.db import migrations, models

from apps.core.db.migration_operations import AddColumn


class Migration(migrations.Migration):
    dependencies = [
        ("customers", "0002_drop_shop_indexes"),
        ("gift_cards", "0002_payments"),
    ]

    operations = [
        AddColumn(
            model_name="giftcard",
            name="recipient",
            field=models.ForeignKey(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="received_gift_cards",
                to="customers.customer",
                verbose_name="recipient",
            ),
        ),
        AddColumn(
            model_name="giftcard",
            name="message",
            field=models.TextField(blank=True, db_default="", default="", max_length=1000, verbose_name="message"),
        ),
        AddColumn(
            model_name="giftcard",
            name="send_at",
            field=models.DateTimeField(blank=True, editable=False, null=True, verbose_name="send on"),
        ),
    ]
