from django.db import migrations, models

from apps.ground.migration_operations import AddIndexWithoutBlocking


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("jobs", "0003_rung_at"),
    ]

    operations = [
        AddIndexWithoutBlocking(
            model_name="job",
            index=models.Index(condition=models.Q(("state", "failed")), fields=["shop", "-id"], name="jobs_job_failed"),
        ),
    ]
