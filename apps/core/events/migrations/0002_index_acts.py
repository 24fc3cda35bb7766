from django.db import migrations, models
from django.db.models import Q

from apps.core.db.migration_operations import AddIndexWithoutBlocking


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("events", "0001_initial")]

    operations = [
        AddIndexWithoutBlocking("event", models.Index(fields=["shop", "group", "id"], name="events_event_by_act")),
        AddIndexWithoutBlocking(
            "event",
            models.Index(fields=["shop", "group"], condition=~Q(actor="system"), name="events_event_acts_by_people"),
        ),
        AddIndexWithoutBlocking(
            "event", models.Index(fields=["shop", "actor", "group"], name="events_event_acts_by_actor")
        ),
        AddIndexWithoutBlocking(
            "event", models.Index(fields=["shop", "subject_type", "group"], name="events_event_acts_by_kind")
        ),
    ]
