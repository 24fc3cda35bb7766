from django.db import migrations

from apps.core.db.migration_operations import AddColumn
from apps.refunds.models.refunds import TaxLinesColumn

HELP_TEXT = "The taxes of the items, shipping and duties, added up by title and rate."


class Migration(migrations.Migration):
    dependencies = [("refunds", "0004_presentment_amounts")]

    operations = [
        AddColumn("refund", "tax_lines", TaxLinesColumn(help_text=HELP_TEXT)),
        *(
            AddColumn(model, "tax_lines", TaxLinesColumn())
            for model in ("refundlineitem", "refundshippingline", "refundduty")
        ),
    ]
