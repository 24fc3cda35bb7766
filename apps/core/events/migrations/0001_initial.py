import django.db.models.deletion
import uuid6
from django.db import migrations, models

import apps.core.i18n.messages
from apps.core.db.migration_operations import AddPostgresIndex, EnsureTrigramExtension


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("shops", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Event",
            fields=[
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("key", models.UUIDField(default=uuid6.uuid7, editable=False, unique=True)),
                ("topic", models.CharField(max_length=100, verbose_name="topic")),
                ("subject_type", models.CharField(max_length=60)),
                ("subject_id", models.BigIntegerField()),
                (
                    "subject_label",
                    models.CharField(blank=True, help_text="The English label, for searches and apps.", max_length=255),
                ),
                (
                    "coded_label",
                    apps.core.i18n.messages.MessageField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The label as a message, if the object has no name of its own.",
                    ),
                ),
                ("actor", models.CharField(max_length=100)),
                ("message", apps.core.i18n.messages.MessageField(blank=True, default="")),
                ("changes", models.JSONField(default=dict, verbose_name="changes")),
                ("payload", models.JSONField(null=True, verbose_name="payload")),
                ("group", models.UUIDField(help_text="Shared by all events of one action of one actor.")),
                ("request_id", models.CharField(blank=True, max_length=36)),
                ("address", models.GenericIPAddressField(null=True)),
                ("created_at", models.DateTimeField(editable=False)),
                (
                    "shop",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="shops.shop",
                    ),
                ),
            ],
            options={
                "verbose_name": "event",
                "verbose_name_plural": "events",
                "indexes": [
                    models.Index(fields=["shop", "id"], name="events_event_by_shop"),
                    models.Index(fields=["shop", "subject_type", "subject_id", "id"], name="events_event_timeline"),
                    models.Index(fields=["shop", "topic", "id"], name="events_event_by_topic"),
                    models.Index(fields=["shop", "actor", "id"], name="events_event_by_actor"),
                    models.Index(fields=["shop", "created_at", "id"], name="events_event_by_time"),
                    models.Index(
                        condition=models.Q(("payload__isnull", False)), fields=["id"], name="events_event_rendered"
                    ),
                ],
            },
        ),
        EnsureTrigramExtension(),
        AddPostgresIndex("event", "events_event_label_parts", "USING gin (upper(subject_label) gin_trgm_ops)"),
    ]
