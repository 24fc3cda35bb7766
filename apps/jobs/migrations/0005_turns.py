from django.db import migrations, models

from apps.ground.migration_operations import AddIndexWithoutBlocking


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("jobs", "0004_failed_jobs"),
    ]

    operations = [
        AddIndexWithoutBlocking(
            model_name="job",
            index=models.Index(
                condition=models.Q(("state", "waiting")), fields=["shop", "due_at", "id"], name="jobs_job_waiting"
            ),
        ),
        AddIndexWithoutBlocking(
            model_name="job",
            index=models.Index(
                condition=models.Q(("state", "running")), fields=["shop", "lease_until"], name="jobs_job_running"
            ),
        ),
    ]
