from django.db import migrations, models
from django.db.models import F, Q
from django.db.models.functions import Round
from django.db.models.lookups import GreaterThanOrEqual

from apps.core.db.migration_operations import OnlyOnSqlite

CONSTRAINT = "orders_shippingline_refunded_at_most_its_price"


class Migration(migrations.Migration):
    """Round a difference of floats. PostgreSQL has exact decimals, so its constraint stays."""

    dependencies = [("orders", "0004_void_canceled_orders")]

    operations = [
        OnlyOnSqlite(
            migrations.RemoveConstraint("shippingline", CONSTRAINT),
            migrations.AddConstraint(
                "shippingline",
                models.CheckConstraint(
                    condition=Q(
                        GreaterThanOrEqual(Round(F("price") - F("discount") - F("refunded"), precision=3), 0),
                        refunded__gte=0,
                        refunded_tax__gte=0,
                        refunded_tax__lte=F("tax"),
                    ),
                    name=CONSTRAINT,
                    violation_error_code="price",
                ),
            ),
        )
    ]
