import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("shops", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="IdempotencyKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("key", models.CharField(max_length=255)),
                ("fingerprint", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField(default=0)),
                ("location", models.CharField(blank=True, max_length=2048)),
                ("body", models.BinaryField(default=b"")),
                ("path", models.CharField(blank=True, max_length=2048)),
                (
                    "request_id",
                    models.CharField(blank=True, help_text="The request ID of the recorded events.", max_length=36),
                ),
                (
                    "installation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="shops.installation"
                    ),
                ),
                (
                    "shop",
                    models.ForeignKey(
                        editable=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="shops.shop"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["created_at"], name="api_idempotencykey_age")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("installation", "key"), name="api_idempotencykey_once_per_installation"
                    )
                ],
            },
        ),
    ]
