import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.lookups
import django.utils.timezone
from django.db import migrations, models

import apps.core.models
from apps.core.db.migration_operations import CreateModels


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("shops", "0001_initial"),
    ]

    operations = [
        CreateModels(
            migrations.CreateModel(
                name="WalletShop",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("known_as", models.CharField(max_length=64, unique=True)),
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
                    "abstract": False,
                },
            ),
            migrations.CreateModel(
                name="PaymentHandlerConfig",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    (
                        "handler_name",
                        models.CharField(
                            default="dev.platform.wallet_pay", editable=False, max_length=64, verbose_name="handler"
                        ),
                    ),
                    (
                        "handler_id",
                        models.CharField(
                            help_text="Identifies this handler. Payment instruments refer to this ID.",
                            max_length=128,
                            verbose_name="handler ID",
                        ),
                    ),
                    ("handler_version", models.CharField(max_length=10, verbose_name="schema version")),
                    (
                        "available_instruments",
                        models.JSONField(blank=True, help_text="Blank for all instruments.", null=True),
                    ),
                    ("config", models.JSONField(verbose_name="configuration")),
                    (
                        "environment",
                        models.CharField(
                            choices=[("sandbox", "Sandbox"), ("production", "Production")],
                            editable=False,
                            max_length=10,
                            verbose_name="environment",
                        ),
                    ),
                    (
                        "enabled",
                        models.BooleanField(
                            default=False,
                            help_text="Enabled handlers are published and available at checkout.",
                            verbose_name="enabled",
                        ),
                    ),
                    ("version", apps.core.models.VersionField(default=apps.core.models.create_version, editable=False)),
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
                    "verbose_name": "payment handler",
                    "verbose_name_plural": "payment handlers",
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("shop", "handler_id"),
                            name="payments_handler_id_once_per_shop",
                            violation_error_code="handler_id",
                            violation_error_message="has already been taken",
                        ),
                        models.UniqueConstraint(
                            condition=models.Q(("enabled", True)),
                            fields=("shop", "handler_name", "environment"),
                            name="payments_handler_enabled_once_per_environment",
                            violation_error_code="enabled",
                            violation_error_message="cannot be enabled: another handler with this name is already enabled in this environment",
                        ),
                        models.CheckConstraint(
                            condition=django.db.models.lookups.StartsWith(
                                django.db.models.functions.comparison.Cast("config", models.TextField()), "{"
                            ),
                            name="payments_handler_config_is_an_object",
                            violation_error_code="config",
                            violation_error_message="is invalid",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="TokenRedemption",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    (
                        "digest",
                        models.CharField(help_text="SHA-256 of the token, in hexadecimal digits.", max_length=64),
                    ),
                    ("handler_id", models.CharField(max_length=128)),
                    ("checkout_id", models.CharField(max_length=255)),
                    ("instrument_id", models.CharField(max_length=255)),
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
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("digest",),
                            name="payments_token_is_redeemed_once",
                            violation_error_code="payment_instrument.credential.token",
                            violation_error_message="has already been taken",
                        )
                    ],
                },
            ),
        ),
    ]
