import hashlib

from django.db import migrations, models


def keep_digests(apps, schema_editor):
    """Replace the keys of the last day with their digests, because new keys are stored as digests, too."""
    model = apps.get_model("api", "IdempotencyKey")
    for row in model._base_manager.only("pk", "key").iterator():
        digest = hashlib.sha256(row.key.encode()).hexdigest()
        model._base_manager.filter(pk=row.pk).update(key=digest)


class Migration(migrations.Migration):
    dependencies = [
        ("api", "0002_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="idempotencykey",
            name="path",
            field=models.CharField(blank=True, max_length=2048),
        ),
        migrations.AddField(
            model_name="idempotencykey",
            name="request_id",
            field=models.CharField(
                blank=True, help_text="That of the events which the work recorded.", max_length=36
            ),
        ),
        migrations.RunPython(keep_digests, migrations.RunPython.noop),
    ]
