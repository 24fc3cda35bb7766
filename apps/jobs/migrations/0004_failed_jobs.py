from django.db import migrations, models

from apps.ground.indexes import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("jobs", "0003_rung_at"),
    ]

    operations = [
        AddIndexBeside(
            model_name="job",
            index=models.Index(condition=models.Q(("state", "failed")), fields=["shop", "-id"], name="jobs_job_failed"),
        ),
    ]
