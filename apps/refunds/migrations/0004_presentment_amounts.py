from django.db import migrations

from apps.refunds.models.refunds import PresentmentColumn

COLUMNS = {
    "refund": ["presentment_duties"],
    "refundlineitem": ["presentment_subtotal", "presentment_tax"],
    "refundshippingline": ["presentment_amount", "presentment_tax"],
    "refundduty": ["presentment_amount", "presentment_tax"],
    "orderadjustment": ["presentment_amount", "presentment_tax_amount"],
}


class Migration(migrations.Migration):
    dependencies = [("refunds", "0003_fill_unrestocked_quantity")]

    operations = [
        migrations.AddField(model, name, PresentmentColumn()) for model, names in COLUMNS.items() for name in names
    ]
