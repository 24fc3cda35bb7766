import django.db.models.deletion
import django.utils.timezone
import uuid6
from django.db import migrations, models

import apps.core.i18n.messages


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("shops", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Job",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("key", models.UUIDField(default=uuid6.uuid7, editable=False, unique=True)),
                ("task", models.CharField(max_length=100, verbose_name="task")),
                ("arguments", models.JSONField(default=dict)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Canceled"),
                        ],
                        default="waiting",
                        max_length=20,
                        verbose_name="state",
                    ),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0, verbose_name="attempts")),
                ("due_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("lease", models.UUIDField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                ("rung_at", models.DateTimeField(null=True)),
                ("progress_done", models.PositiveIntegerField(default=0)),
                ("progress_total", models.PositiveIntegerField(default=0)),
                ("error", apps.core.i18n.messages.MessageField(blank=True, default="")),
                ("actor", models.CharField(default="system", max_length=100)),
                ("finished_at", models.DateTimeField(null=True, verbose_name="finished at")),
                (
                    "shop",
                    models.ForeignKey(
                        editable=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="shops.shop"
                    ),
                ),
            ],
            options={
                "verbose_name": "job",
                "verbose_name_plural": "jobs",
                "ordering": ("-id",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ("waiting", "running"))),
                        fields=["due_at", "id"],
                        name="jobs_job_unfinished",
                    ),
                    models.Index(
                        condition=models.Q(("state", "waiting")),
                        fields=["shop", "due_at", "id"],
                        name="jobs_job_waiting",
                    ),
                    models.Index(
                        condition=models.Q(("state", "running")),
                        fields=["shop", "lease_until"],
                        name="jobs_job_running",
                    ),
                    models.Index(fields=["shop", "-id"], name="jobs_job_by_shop"),
                    models.Index(
                        condition=models.Q(("state", "failed")), fields=["shop", "-id"], name="jobs_job_failed"
                    ),
                ],
            },
        ),
    ]
