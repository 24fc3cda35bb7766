from django.db import migrations, models
from django.db.models import Q

from apps.core.db.migration_operations import AddIndexWithoutBlocking


class Migration(migrations.Migration):
    """Replace the index for ordered delivery, so that its order is the order of the events."""

    atomic = False

    dependencies = [("webhooks", "0002_delivery_runs")]

    operations = [
        AddIndexWithoutBlocking(
            "delivery",
            models.Index(
                condition=Q(state__in=("due", "retry", "leased")) & ~Q(ordering_key=""),
                fields=["subscription", "ordering_key", "event"],
                name="webhooks_delivery_event_order",
            ),
        ),
        migrations.RemoveIndex("delivery", "webhooks_delivery_in_order"),
    ]
