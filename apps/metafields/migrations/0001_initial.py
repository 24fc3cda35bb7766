import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
from django.db import migrations, models

import apps.core.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("shops", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Metafield",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("owner_resource", models.CharField(editable=False, max_length=50, verbose_name="owner type")),
                ("owner_id", models.BigIntegerField(editable=False, verbose_name="owner")),
                ("namespace", models.CharField(max_length=20, verbose_name="namespace")),
                ("key", models.CharField(max_length=30, verbose_name="key")),
                ("type", models.CharField(max_length=50, verbose_name="type")),
                ("value", models.TextField(verbose_name="value")),
                ("description", models.CharField(blank=True, max_length=255, null=True, verbose_name="description")),
                ("version", apps.core.models.VersionField(default=apps.core.models.create_version, editable=False)),
                (
                    "shop",
                    models.ForeignKey(
                        editable=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="shops.shop"
                    ),
                ),
            ],
            options={
                "verbose_name": "metafield",
                "verbose_name_plural": "metafields",
                "indexes": [
                    models.Index(
                        fields=["shop", "owner_resource", "owner_id", "id"], name="metafields_metafield_by_owner"
                    ),
                    models.Index(fields=["owner_resource", "owner_id"], name="metafields_metafield_cascade"),
                    models.Index(
                        models.F("shop"),
                        models.F("owner_resource"),
                        django.db.models.functions.text.Upper(django.db.models.functions.text.Left("value", 100)),
                        name="metafields_metafield_by_value",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("shop", "owner_resource", "owner_id", "namespace", "key"),
                        name="metafields_metafield_one_per_owner_namespace_and_key",
                        violation_error_code="key",
                        violation_error_message="has already been taken",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("type", "id")),
                        fields=("shop", "owner_resource", "namespace", "key", "value"),
                        name="metafields_metafield_ids_are_unique",
                        violation_error_code="value",
                        violation_error_message="has already been taken",
                    ),
                ],
            },
        ),
    ]
