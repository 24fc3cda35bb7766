import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import apps.core.i18n.messages
from apps.core.db.migration_operations import CreateModels


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("shops", "0001_initial"),
    ]

    operations = [
        CreateModels(
            migrations.CreateModel(
                name="BulkEdit",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("kind", models.CharField(max_length=9)),
                    (
                        "ids",
                        models.JSONField(default=list, help_text="Row IDs in ascending order.", verbose_name="IDs"),
                    ),
                    ("operations", models.JSONField(default=dict, help_text="Operations by field.")),
                    (
                        "state",
                        models.CharField(
                            choices=[
                                ("draft", "Preparing"),
                                ("running", "Running"),
                                ("done", "Done"),
                                ("stopped", "Stopped"),
                                ("failed", "Failed"),
                                ("undoing", "Undoing"),
                                ("undone", "Undone"),
                            ],
                            default="draft",
                            max_length=7,
                            verbose_name="state",
                        ),
                    ),
                    ("actor", models.CharField(max_length=100)),
                    ("total", models.PositiveIntegerField(default=0, verbose_name="total")),
                    ("problem", apps.core.i18n.messages.MessageField(blank=True, default="")),
                    ("started_at", models.DateTimeField(null=True)),
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
                    "verbose_name": "bulk edit",
                    "verbose_name_plural": "bulk edits",
                    "ordering": ("-id",),
                    "indexes": [models.Index(fields=["shop", "-id"], name="bulk_edits_bulkedit_by_shop")],
                },
            ),
            migrations.CreateModel(
                name="EditedRow",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("row_id", models.BigIntegerField(verbose_name="row ID")),
                    ("dry", models.BooleanField(default=False)),
                    (
                        "fate",
                        models.CharField(
                            choices=[
                                ("changed", "Changed"),
                                ("same", "Unchanged"),
                                ("refused", "Rejected"),
                                ("undone", "Restored"),
                                ("kept", "Not restored"),
                            ],
                            max_length=7,
                            verbose_name="result",
                        ),
                    ),
                    ("label", models.CharField(blank=True, max_length=255)),
                    ("reason", apps.core.i18n.messages.MessageField(blank=True, default="", verbose_name="reason")),
                    (
                        "changes",
                        models.JSONField(
                            default=list,
                            help_text="Field, old value and new value, for display.",
                            verbose_name="changes",
                        ),
                    ),
                    ("before", models.JSONField(default=dict, help_text="Old values by field.")),
                    ("mark", models.CharField(blank=True, max_length=64)),
                    (
                        "edit",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="rows_of_it",
                            to="bulk_edits.bulkedit",
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
                    "verbose_name": "edited row",
                    "verbose_name_plural": "edited rows",
                    "ordering": ("row_id",),
                    "indexes": [
                        models.Index(fields=["edit", "dry", "fate", "row_id"], name="bulk_edits_editedrow_by_fate"),
                        models.Index(fields=["shop", "row_id"], name="bulk_edits_editedrow_by_row"),
                    ],
                    "constraints": [
                        models.UniqueConstraint(fields=("edit", "dry", "row_id"), name="bulk_edits_editedrow_once")
                    ],
                },
            ),
        ),
    ]
