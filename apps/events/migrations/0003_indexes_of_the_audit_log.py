import django.db.models.deletion
from django.db import migrations, models

from apps.ground.migration_operations import AddIndexWithoutBlocking, AddPostgresIndex, DropForeignKeyIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("events", "0002_initial"),
        ("shops", "0007_private_apps_have_owners"),
    ]

    operations = [
        AddIndexWithoutBlocking(
            model_name="event",
            index=models.Index(fields=["shop", "actor", "id"], name="events_event_by_actor"),
        ),
        AddIndexWithoutBlocking(
            model_name="event",
            index=models.Index(fields=["shop", "created_at", "id"], name="events_event_by_time"),
        ),
        AddPostgresIndex(
            "event",
            "events_event_label_parts",
            "USING gin (upper(subject_label) gin_trgm_ops)",
        ),
        DropForeignKeyIndex(
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
