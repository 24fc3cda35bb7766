import django.db.models.deletion
from django.db import migrations, models

from apps.ground.indexes import AddIndexBeside, AddPartsIndexBeside, DropKeyIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("events", "0002_initial"),
        ("shops", "0007_private_apps_have_owners"),
    ]

    operations = [
        AddIndexBeside(
            model_name="event",
            index=models.Index(fields=["shop", "actor", "id"], name="events_event_by_actor"),
        ),
        AddIndexBeside(
            model_name="event",
            index=models.Index(fields=["shop", "created_at", "id"], name="events_event_by_time"),
        ),
        AddPartsIndexBeside(
            "event",
            "events_event_label_parts",
            "USING gin (upper(subject_label) gin_trgm_ops)",
        ),
        DropKeyIndex(
            model_name="event",
            name="shop",
            field=models.ForeignKey(
                db_index=False,
                editable=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="shops.shop",
            ),
        ),
    ]
