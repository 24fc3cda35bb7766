import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import apps.core.i18n.messages
import apps.imports_exports.models.files
from apps.core.db.migration_operations import CreateModels


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("shops", "0001_initial"),
        ("staff", "__first__"),
    ]

    operations = [
        CreateModels(
            migrations.CreateModel(
                name="Export",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("kind", models.CharField(max_length=9, verbose_name="kind")),
                    (
                        "format",
                        models.CharField(
                            choices=[
                                ("csv", "CSV, for spreadsheets"),
                                ("jsonl", "JSON lines, complete"),
                                ("json", "JSON, one document"),
                            ],
                            max_length=5,
                            verbose_name="format",
                        ),
                    ),
                    ("filters", models.JSONField(default=dict, verbose_name="filters")),
                    (
                        "key",
                        models.CharField(
                            default=apps.imports_exports.models.files.new_key,
                            editable=False,
                            max_length=43,
                            unique=True,
                        ),
                    ),
                    (
                        "file",
                        models.CharField(
                            blank=True,
                            editable=False,
                            help_text="The path of the finished file.",
                            max_length=200,
                            verbose_name="file",
                        ),
                    ),
                    (
                        "state",
                        models.CharField(
                            choices=[
                                ("waiting", "In progress"),
                                ("ready", "Ready"),
                                ("failed", "Failed"),
                                ("expired", "Expired"),
                            ],
                            default="waiting",
                            max_length=7,
                        ),
                    ),
                    ("row_count", models.PositiveIntegerField(default=0, verbose_name="row count")),
                    (
                        "parts",
                        models.JSONField(
                            editable=False,
                            help_text="Checkpoint of an unfinished export: paths of its parts, and the last object.",
                            null=True,
                        ),
                    ),
                    ("expires_at", models.DateTimeField(null=True, verbose_name="expires at")),
                    (
                        "shop",
                        models.ForeignKey(
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="shops.shop",
                        ),
                    ),
                    (
                        "user",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                        ),
                    ),
                ],
                options={
                    "verbose_name": "export",
                    "verbose_name_plural": "exports",
                    "db_table": "imports_exports_export",
                    "ordering": ("-id",),
                },
            ),
            migrations.CreateModel(
                name="Import",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("name", models.CharField(max_length=255, verbose_name="file")),
                    (
                        "format",
                        models.CharField(
                            choices=[
                                ("csv", "CSV, for spreadsheets"),
                                ("jsonl", "JSON lines, complete"),
                                ("json", "JSON, one document"),
                            ],
                            max_length=5,
                            verbose_name="format",
                        ),
                    ),
                    ("digest", models.CharField(max_length=64)),
                    (
                        "key",
                        models.CharField(
                            default=apps.imports_exports.models.files.new_key,
                            editable=False,
                            max_length=43,
                            unique=True,
                        ),
                    ),
                    (
                        "state",
                        models.CharField(
                            choices=[
                                ("checking", "Validating"),
                                ("checked", "Waiting for confirmation"),
                                ("importing", "Importing"),
                                ("done", "Done"),
                                ("failed", "Failed"),
                            ],
                            default="checking",
                            max_length=9,
                        ),
                    ),
                    ("actor", models.CharField(max_length=100, verbose_name="actor")),
                    ("total", models.PositiveIntegerField(default=0)),
                    ("done", models.PositiveIntegerField(default=0, verbose_name="done")),
                    (
                        "counts",
                        models.JSONField(default=dict, help_text="Number of rows by result, from the validation."),
                    ),
                    ("unknown", models.JSONField(default=list, help_text="Unknown columns, which are ignored.")),
                    (
                        "passed_over",
                        models.JSONField(default=list, help_text="Unsupported columns, which are ignored.", null=True),
                    ),
                    (
                        "mapping",
                        models.JSONField(
                            help_text="The column mapping of the user; null to detect columns by name.", null=True
                        ),
                    ),
                    ("problem", apps.core.i18n.messages.MessageField(blank=True, default="")),
                    ("claim", models.UUIDField(editable=False, null=True)),
                    ("claimed_until", models.DateTimeField(editable=False, null=True)),
                    ("finished_at", models.DateTimeField(null=True, verbose_name="finished at")),
                    (
                        "shop",
                        models.ForeignKey(
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="shops.shop",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "import",
                    "verbose_name_plural": "imports",
                    "db_table": "imports_exports_import",
                    "ordering": ("-id",),
                    "indexes": [models.Index(fields=["shop", "digest"], name="orders_import_by_digest")],
                },
            ),
            migrations.CreateModel(
                name="ImportedRow",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    (
                        "line",
                        models.PositiveIntegerField(
                            help_text="Line number in the file, starting at 1.", verbose_name="line"
                        ),
                    ),
                    ("dry", models.BooleanField(default=False, help_text="True for results of the validation.")),
                    ("kind", models.CharField(blank=True, max_length=9, verbose_name="kind")),
                    (
                        "fate",
                        models.CharField(
                            choices=[
                                ("new", "New"),
                                ("changed", "Changed"),
                                ("skipped", "Skipped"),
                                ("failed", "Failed"),
                            ],
                            max_length=7,
                            verbose_name="result",
                        ),
                    ),
                    ("label", models.CharField(blank=True, max_length=255, verbose_name="label")),
                    ("reason", apps.core.i18n.messages.MessageField(blank=True, default="", verbose_name="reason")),
                    ("source_key", models.CharField(blank=True, max_length=300)),
                    (
                        "changes",
                        models.JSONField(default=list, help_text="Field, old value and new value, for the preview."),
                    ),
                    (
                        "file",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="fates",
                            to="imports_exports.import",
                            verbose_name="file",
                        ),
                    ),
                    (
                        "shop",
                        models.ForeignKey(
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="shops.shop",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "imported row",
                    "verbose_name_plural": "imported rows",
                    "db_table": "imports_exports_importedrow",
                    "ordering": ("line",),
                    "indexes": [
                        models.Index(fields=["file", "dry", "fate", "line"], name="orders_importedrow_by_fate")
                    ],
                    "constraints": [
                        models.UniqueConstraint(fields=("file", "dry", "line"), name="orders_importedrow_one_per_line"),
                        models.UniqueConstraint(
                            condition=models.Q(
                                models.Q(("source_key", ""), _negated=True), ("dry", False), ("fate", "new")
                            ),
                            fields=("shop", "source_key"),
                            name="orders_importedrow_source_once",
                        ),
                    ],
                },
            ),
        ),
    ]
