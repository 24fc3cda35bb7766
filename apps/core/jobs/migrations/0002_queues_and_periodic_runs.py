from django.db import migrations, models
from django.db.models import Q

import apps.core.jobs.models
from apps.core.db.migration_operations import AddColumn, AddIndexWithoutBlocking


class Migration(migrations.Migration):
    """Add the queues of jobs and the table of periodic runs.

    Processes of release 1.0.0 insert jobs without a queue, so the column has a database default.
    """

    atomic = False

    dependencies = [("jobs", "0001_initial")]

    operations = [
        AddColumn(
            "job",
            "queue",
            models.CharField(default="default", db_default="default", max_length=100, verbose_name="queue"),
        ),
        # The class of the field changes nothing in the database.
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.AlterField("job", "rung_at", apps.core.jobs.models.SentAtField(null=True))]
        ),
        migrations.CreateModel(
            "PeriodicRun",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100, unique=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("lease", models.UUIDField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                ("result", models.IntegerField(null=True)),
                ("error", models.TextField(default="")),
            ],
        ),
        AddIndexWithoutBlocking(
            "job",
            models.Index(
                condition=Q(state__in=("waiting", "running"), rung_at__isnull=False),
                fields=["shop", "queue"],
                name="jobs_job_sent",
            ),
        ),
        AddIndexWithoutBlocking(
            "job",
            models.Index(
                condition=Q(rung_at__isnull=True, state="waiting"),
                fields=["shop", "queue", "due_at", "id"],
                name="jobs_job_unsent",
            ),
        ),
        migrations.RemoveIndex("job", "jobs_job_waiting"),
    ]
