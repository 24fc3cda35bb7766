import django.core.validators
import django.db.models.deletion
import django.utils.timezone
import uuid6
from django.db import migrations, models

import apps.core.i18n.messages
import apps.core.models
from apps.core.db.migration_operations import CreateModels


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("events", "0001_initial"),
        ("shops", "0001_initial"),
    ]

    operations = [
        CreateModels(
            migrations.CreateModel(
                name="Subscription",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    (
                        "origin",
                        models.CharField(
                            choices=[
                                ("api", "Created by the app for this shop"),
                                ("config", "From the app's configuration file, for all shops"),
                            ],
                            default="api",
                            editable=False,
                            max_length=10,
                        ),
                    ),
                    ("topic", models.CharField(max_length=100, verbose_name="topic")),
                    ("uri", models.TextField(verbose_name="URI")),
                    (
                        "format",
                        models.CharField(choices=[("json", "JSON"), ("xml", "XML")], default="json", max_length=4),
                    ),
                    ("filter", models.TextField(blank=True, verbose_name="filter")),
                    ("include_fields", models.JSONField(blank=True, default=list)),
                    ("metafield_namespaces", models.JSONField(blank=True, default=list)),
                    ("private_metafield_namespaces", models.JSONField(blank=True, default=list)),
                    ("metafields", models.JSONField(blank=True, default=list)),
                    ("name", models.CharField(blank=True, max_length=50, null=True)),
                    ("api_version", models.CharField(max_length=10, verbose_name="API version")),
                    (
                        "ordered",
                        models.BooleanField(
                            default=False, help_text="Deliver each resource's events in order.", verbose_name="ordered"
                        ),
                    ),
                    (
                        "max_in_flight",
                        models.PositiveSmallIntegerField(
                            default=10,
                            validators=[
                                django.core.validators.MinValueValidator(1),
                                django.core.validators.MaxValueValidator(50),
                            ],
                            verbose_name="maximum concurrent deliveries",
                        ),
                    ),
                    (
                        "max_per_second",
                        models.PositiveSmallIntegerField(
                            blank=True,
                            null=True,
                            validators=[
                                django.core.validators.MinValueValidator(1),
                                django.core.validators.MaxValueValidator(1000),
                            ],
                            verbose_name="maximum deliveries per second",
                        ),
                    ),
                    (
                        "state",
                        models.CharField(
                            choices=[("live", "Live"), ("paused", "Paused"), ("disabled", "Disabled")],
                            default="live",
                            editable=False,
                            max_length=10,
                            verbose_name="state",
                        ),
                    ),
                    ("reason", apps.core.i18n.messages.MessageField(blank=True, default="", editable=False)),
                    ("state_changed_at", models.DateTimeField(editable=False, null=True)),
                    ("warnings", models.JSONField(default=list, editable=False)),
                    ("key_digest", models.CharField(editable=False, max_length=64)),
                    ("deleted_at", models.DateTimeField(editable=False, null=True)),
                    ("removed_by_uninstalling", models.BooleanField(default=False, editable=False)),
                    ("version", apps.core.models.VersionField(default=apps.core.models.create_version, editable=False)),
                    (
                        "app",
                        models.ForeignKey(
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="shops.app",
                            verbose_name="app",
                        ),
                    ),
                    (
                        "shop",
                        models.ForeignKey(
                            editable=False,
                            null=True,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="shops.shop",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "webhook subscription",
                    "ordering": ("id",),
                    "indexes": [models.Index(fields=["shop", "app", "id"], name="webhooks_subscription_by_app")],
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(
                                models.Q(("origin", "config"), ("shop", None)),
                                models.Q(("origin", "api"), ("shop__isnull", False)),
                                _connector="OR",
                            ),
                            name="webhooks_subscription_config_holds_for_all_shops",
                            violation_error_message="is invalid",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("max_in_flight__range", (1, 50))),
                            name="webhooks_subscription_in_flight_1_to_50",
                            violation_error_message="is invalid",
                        ),
                        models.UniqueConstraint(
                            condition=models.Q(("deleted_at", None), ("origin", "api")),
                            fields=("shop", "app", "topic", "key_digest"),
                            name="webhooks_subscription_once_per_shop",
                            violation_error_code="uri",
                            violation_error_message="for this topic has already been taken",
                        ),
                        models.UniqueConstraint(
                            condition=models.Q(("deleted_at", None), ("origin", "config")),
                            fields=("app", "topic", "key_digest"),
                            name="webhooks_subscription_once_per_app",
                            violation_error_code="uri",
                            violation_error_message="for this topic has already been taken",
                        ),
                        models.UniqueConstraint(
                            condition=models.Q(("deleted_at", None), ("name__isnull", False), ("origin", "api")),
                            fields=("shop", "app", "name"),
                            name="webhooks_subscription_name_once_per_shop",
                            violation_error_code="name",
                            violation_error_message="already exists, no duplicate allowed",
                        ),
                        models.UniqueConstraint(
                            condition=models.Q(("deleted_at", None), ("name__isnull", False), ("origin", "config")),
                            fields=("app", "topic", "name"),
                            name="webhooks_subscription_name_once_per_app",
                            violation_error_code="name",
                            violation_error_message="already exists, no duplicate allowed",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="Host",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("name", models.CharField(max_length=255, unique=True)),
                    ("trips", models.PositiveSmallIntegerField(default=0)),
                    ("paused_until", models.DateTimeField(null=True)),
                    ("last_error", models.CharField(blank=True, max_length=255)),
                ],
                options={
                    "abstract": False,
                },
            ),
            migrations.CreateModel(
                name="Delivery",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("key", models.UUIDField(default=uuid6.uuid7, editable=False)),
                    (
                        "kind",
                        models.CharField(
                            choices=[("event", "Event"), ("test", "Test"), ("call", "Notification")],
                            default="event",
                            max_length=5,
                            verbose_name="kind",
                        ),
                    ),
                    ("topic", models.CharField(max_length=100, verbose_name="topic")),
                    ("api_version", models.CharField(max_length=10)),
                    ("ordering_key", models.CharField(blank=True, max_length=100)),
                    (
                        "state",
                        models.CharField(
                            choices=[
                                ("due", "Waiting"),
                                ("retry", "Waiting for retry"),
                                ("leased", "Sending"),
                                ("done", "Delivered"),
                                ("dead", "Failed"),
                                ("held", "Held (subscription paused or disabled)"),
                                ("cancelled", "Canceled"),
                            ],
                            default="due",
                            max_length=10,
                            verbose_name="state",
                        ),
                    ),
                    ("next_at", models.DateTimeField(default=django.utils.timezone.now)),
                    ("attempts", models.PositiveSmallIntegerField(default=0)),
                    ("redelivery", models.BooleanField(default=False)),
                    ("lease", models.UUIDField(null=True)),
                    ("lease_until", models.DateTimeField(null=True)),
                    ("triggered_at", models.DateTimeField(verbose_name="triggered at")),
                    ("first_attempt_at", models.DateTimeField(null=True)),
                    ("finished_at", models.DateTimeField(null=True, verbose_name="finished at")),
                    ("error", models.CharField(blank=True, max_length=50)),
                    (
                        "app",
                        models.ForeignKey(
                            db_index=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="shops.app",
                            verbose_name="app",
                        ),
                    ),
                    (
                        "event",
                        models.ForeignKey(
                            db_index=False,
                            null=True,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="events.event",
                            verbose_name="event",
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
                    (
                        "endpoint",
                        models.ForeignKey(
                            db_index=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="webhooks.endpoint",
                        ),
                    ),
                    (
                        "subscription",
                        models.ForeignKey(
                            db_index=False,
                            null=True,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="deliveries",
                            to="webhooks.subscription",
                            verbose_name="subscription",
                        ),
                    ),
                    (
                        "payload",
                        models.ForeignKey(
                            db_constraint=False,
                            db_index=False,
                            on_delete=django.db.models.deletion.DO_NOTHING,
                            related_name="+",
                            to="webhooks.payload",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "delivery",
                    "verbose_name_plural": "deliveries",
                    "indexes": [
                        models.Index(
                            condition=models.Q(("state", "leased")),
                            fields=["lease_until"],
                            name="webhooks_delivery_leased",
                        ),
                        models.Index(fields=["shop", "-id"], name="webhooks_delivery_by_shop"),
                        models.Index(
                            condition=models.Q(("state__in", ("due", "retry"))),
                            fields=["endpoint", "state", "next_at", "id"],
                            name="webhooks_delivery_waiting",
                        ),
                        models.Index(
                            condition=models.Q(
                                ("state__in", ("due", "retry", "leased")), models.Q(("ordering_key", ""), _negated=True)
                            ),
                            fields=["subscription", "ordering_key", "id"],
                            name="webhooks_delivery_in_order",
                        ),
                        models.Index(fields=["subscription", "state", "id"], name="webhooks_delivery_by_state"),
                    ],
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("event", "subscription"), name="webhooks_delivery_once_per_event_and_subscription"
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="Attempt",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("number", models.PositiveSmallIntegerField(verbose_name="number")),
                    ("outcome", models.CharField(max_length=20)),
                    ("status", models.PositiveSmallIntegerField(null=True, verbose_name="status")),
                    ("error", apps.core.i18n.messages.MessageField(blank=True, default="")),
                    ("fenced", models.BooleanField(default=False)),
                    ("queued_ms", models.PositiveIntegerField(default=0)),
                    ("connect_ms", models.PositiveIntegerField(null=True)),
                    ("first_byte_ms", models.PositiveIntegerField(null=True)),
                    ("total_ms", models.PositiveIntegerField(default=0)),
                    ("remote_ip", models.GenericIPAddressField(null=True)),
                    ("response_headers", models.JSONField(default=dict)),
                    ("excerpt", models.TextField(blank=True)),
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
                        "delivery",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE, related_name="log", to="webhooks.delivery"
                        ),
                    ),
                ],
                options={
                    "verbose_name": "attempt",
                    "verbose_name_plural": "attempts",
                    "ordering": ("delivery", "number"),
                },
            ),
            migrations.CreateModel(
                name="Endpoint",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("uri", models.TextField(verbose_name="URI")),
                    ("uri_digest", models.CharField(max_length=64)),
                    ("host", models.CharField(max_length=255)),
                    (
                        "max_in_flight",
                        models.PositiveSmallIntegerField(default=10, verbose_name="maximum concurrent deliveries"),
                    ),
                    (
                        "max_per_second",
                        models.PositiveSmallIntegerField(null=True, verbose_name="maximum deliveries per second"),
                    ),
                    ("tokens", models.FloatField(db_default=0.0, default=0.0)),
                    ("tokens_at", models.DateTimeField(null=True)),
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
                    "verbose_name": "endpoint",
                    "verbose_name_plural": "endpoints",
                    "constraints": [
                        models.UniqueConstraint(fields=("shop", "uri_digest"), name="webhooks_endpoint_once_per_shop")
                    ],
                },
            ),
            migrations.CreateModel(
                name="Health",
                fields=[
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    (
                        "subscription",
                        models.OneToOneField(
                            on_delete=django.db.models.deletion.CASCADE,
                            primary_key=True,
                            related_name="health",
                            serialize=False,
                            to="webhooks.subscription",
                            verbose_name="subscription",
                        ),
                    ),
                    ("last_success_at", models.DateTimeField(null=True)),
                    ("last_failure_at", models.DateTimeField(null=True)),
                    ("failing_since", models.DateTimeField(null=True)),
                    ("dead_in_a_row", models.PositiveIntegerField(default=0)),
                    ("warned", models.PositiveSmallIntegerField(default=0)),
                    ("filter_errors", models.PositiveIntegerField(default=0)),
                    ("last_error", apps.core.i18n.messages.MessageField(blank=True, default="")),
                ],
                options={
                    "abstract": False,
                },
            ),
            migrations.CreateModel(
                name="Payload",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("digest", models.CharField(max_length=64)),
                    ("body", models.BinaryField()),
                    (
                        "event",
                        models.ForeignKey(
                            db_index=False,
                            null=True,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="events.event",
                            verbose_name="event",
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
                    "verbose_name": "payload",
                    "verbose_name_plural": "payloads",
                    "constraints": [
                        models.UniqueConstraint(fields=("event", "digest"), name="webhooks_payload_once_per_event")
                    ],
                },
            ),
            migrations.CreateModel(
                name="Pending",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("metafields", models.JSONField(null=True)),
                    (
                        "event",
                        models.OneToOneField(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="events.event",
                            verbose_name="event",
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
                    "verbose_name": "pending event",
                    "verbose_name_plural": "pending events",
                    "indexes": [models.Index(fields=["shop", "id"], name="webhooks_pending_by_shop")],
                },
            ),
        ),
    ]
