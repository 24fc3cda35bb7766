from django.db import migrations, models

from apps.ground.migration_operations import AddIndexWithoutBlocking


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("events", "0003_indexes_of_the_audit_log"),
    ]

    operations = [
        AddIndexWithoutBlocking(
            model_name="event",
            index=models.Index(
                condition=models.Q(payload__isnull=False), fields=["id"], name="events_event_rendered"
            ),
        ),
    ]
