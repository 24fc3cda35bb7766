import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.comparison
import django.utils.timezone
from django.db import migrations, models

import apps.core.i18n.messages
import apps.core.models
from apps.core.db.migration_operations import CreateModels


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("inventory", "0001_initial"),
        ("orders", "0001_initial"),
        ("shops", "0001_initial"),
    ]

    operations = [
        CreateModels(
            migrations.CreateModel(
                name="Fulfillment",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("number", models.PositiveIntegerField(editable=False, verbose_name="number")),
                    ("name", models.CharField(editable=False, max_length=80, verbose_name="name")),
                    (
                        "service",
                        models.CharField(default="manual", editable=False, max_length=255, verbose_name="service"),
                    ),
                    (
                        "status",
                        models.CharField(
                            choices=[
                                ("pending", "Pending"),
                                ("open", "Open"),
                                ("success", "Fulfilled"),
                                ("cancelled", "Canceled"),
                                ("error", "Error"),
                                ("failure", "Failed"),
                            ],
                            default="success",
                            editable=False,
                            max_length=9,
                            verbose_name="status",
                        ),
                    ),
                    (
                        "shipment_status",
                        models.CharField(blank=True, editable=False, max_length=18, verbose_name="shipment status"),
                    ),
                    ("tracking_company", models.CharField(blank=True, max_length=255)),
                    ("tracking_numbers", models.JSONField(default=list)),
                    ("tracking_urls", models.JSONField(default=list)),
                    ("origin_address", models.JSONField(blank=True, null=True)),
                    ("message", models.CharField(blank=True, max_length=1000, verbose_name="message")),
                    ("version", apps.core.models.VersionField(default=apps.core.models.create_version, editable=False)),
                    (
                        "location",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.RESTRICT,
                            related_name="fulfillments",
                            to="inventory.location",
                            verbose_name="location",
                        ),
                    ),
                    (
                        "order",
                        models.ForeignKey(
                            db_index=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="fulfillments",
                            to="orders.order",
                            verbose_name="order",
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
                    "verbose_name": "fulfillment",
                    "verbose_name_plural": "fulfillments",
                    "ordering": ("id",),
                    "indexes": [
                        models.Index(fields=["order", "id"], name="fulfillment_by_order"),
                        models.Index(fields=["shop", "id"], name="fulfillment_by_shop"),
                    ],
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("order", "number"), name="fulfillment_fulfillment_number_once_per_order"
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="FulfillmentEvent",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    (
                        "status",
                        models.CharField(
                            choices=[
                                ("label_purchased", "Label purchased"),
                                ("label_printed", "Label printed"),
                                ("ready_for_pickup", "Ready for pickup"),
                                ("confirmed", "Confirmed"),
                                ("in_transit", "In transit"),
                                ("out_for_delivery", "Out for delivery"),
                                ("attempted_delivery", "Delivery attempted"),
                                ("delivered", "Delivered"),
                                ("failure", "Delivery failed"),
                                ("picked_up", "Picked up"),
                                ("delayed", "Delayed"),
                                ("carrier_picked_up", "Picked up by the carrier"),
                            ],
                            max_length=18,
                            verbose_name="status",
                        ),
                    ),
                    ("message", models.CharField(blank=True, max_length=1000, null=True, verbose_name="message")),
                    ("happened_at", models.DateTimeField(verbose_name="happened at")),
                    ("address1", models.CharField(blank=True, max_length=255, null=True, verbose_name="address")),
                    ("city", models.CharField(blank=True, max_length=255, null=True, verbose_name="city")),
                    ("province", models.CharField(blank=True, max_length=255, null=True)),
                    ("country", models.CharField(blank=True, max_length=255, null=True, verbose_name="country")),
                    ("zip", models.CharField(blank=True, max_length=50, null=True, verbose_name="postal code")),
                    ("latitude", models.FloatField(blank=True, null=True)),
                    ("longitude", models.FloatField(blank=True, null=True)),
                    (
                        "estimated_delivery_at",
                        models.DateTimeField(blank=True, null=True, verbose_name="estimated delivery at"),
                    ),
                    (
                        "fulfillment",
                        models.ForeignKey(
                            db_index=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="events",
                            to="fulfillment.fulfillment",
                            verbose_name="fulfillment",
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
                    "verbose_name": "fulfillment event",
                    "verbose_name_plural": "fulfillment events",
                    "ordering": ("id",),
                    "indexes": [
                        models.Index(fields=["fulfillment", "id"], name="fulfillment_event_by_parcel"),
                        models.Index(fields=["fulfillment", "happened_at", "id"], name="fulfillment_event_by_time"),
                    ],
                },
            ),
            migrations.CreateModel(
                name="FulfillmentOrder",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    (
                        "status",
                        models.CharField(
                            choices=[
                                ("open", "Open"),
                                ("in_progress", "In progress"),
                                ("scheduled", "Scheduled"),
                                ("on_hold", "On hold"),
                                ("incomplete", "Incomplete"),
                                ("cancelled", "Canceled"),
                                ("closed", "Closed"),
                            ],
                            default="open",
                            editable=False,
                            max_length=11,
                            verbose_name="status",
                        ),
                    ),
                    (
                        "request_status",
                        models.CharField(
                            choices=[
                                ("unsubmitted", "Not requested"),
                                ("submitted", "Requested"),
                                ("accepted", "Accepted"),
                                ("rejected", "Rejected"),
                                ("cancellation_requested", "Cancellation requested"),
                                ("cancellation_accepted", "Cancellation accepted"),
                                ("cancellation_rejected", "Cancellation rejected"),
                                ("closed", "Closed by the service"),
                            ],
                            default="unsubmitted",
                            editable=False,
                            max_length=22,
                        ),
                    ),
                    (
                        "fulfill_at",
                        models.DateTimeField(
                            blank=True,
                            help_text="The items can be fulfilled from this time on.",
                            null=True,
                            verbose_name="fulfill at",
                        ),
                    ),
                    (
                        "fulfill_by",
                        models.DateTimeField(
                            blank=True, help_text="The deadline for fulfillment.", null=True, verbose_name="fulfill by"
                        ),
                    ),
                    (
                        "method_type",
                        models.CharField(
                            choices=[
                                ("local", "Local delivery"),
                                ("none", "Nothing to ship"),
                                ("pick_up", "Pickup"),
                                ("retail", "In store"),
                                ("shipping", "Shipping"),
                            ],
                            default="shipping",
                            editable=False,
                            max_length=8,
                        ),
                    ),
                    ("presented_name", models.CharField(blank=True, editable=False, max_length=255)),
                    ("service_code", models.CharField(blank=True, editable=False, max_length=255)),
                    ("source_reference", models.CharField(blank=True, editable=False, max_length=255)),
                    ("version", apps.core.models.VersionField(default=apps.core.models.create_version, editable=False)),
                    (
                        "assigned_location",
                        models.ForeignKey(
                            db_index=False,
                            on_delete=django.db.models.deletion.RESTRICT,
                            related_name="fulfillment_orders",
                            to="inventory.location",
                            verbose_name="assigned location",
                        ),
                    ),
                    (
                        "order",
                        models.ForeignKey(
                            db_index=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="fulfillment_orders",
                            to="orders.order",
                            verbose_name="order",
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
                    "verbose_name": "fulfillment order",
                    "verbose_name_plural": "fulfillment orders",
                    "ordering": ("id",),
                    "indexes": [
                        models.Index(fields=["order", "id"], name="fulfillment_order_by_order"),
                        models.Index(
                            fields=["assigned_location", "status", "id"], name="fulfillment_order_by_location"
                        ),
                        models.Index(
                            models.F("shop"),
                            django.db.models.functions.comparison.Coalesce("fulfill_by", "fulfill_at", "created_at"),
                            models.F("id"),
                            models.F("status"),
                            models.F("request_status"),
                            models.F("assigned_location"),
                            models.F("fulfill_by"),
                            condition=models.Q(("status__in", ["open", "scheduled", "on_hold", "in_progress"])),
                            name="fulfillment_order_work",
                        ),
                        models.Index(fields=["shop", "id"], name="fulfillment_order_by_shop"),
                    ],
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(
                                models.Q(
                                    ("request_status__in", ["unsubmitted", "submitted", "rejected"]), ("status", "open")
                                ),
                                models.Q(("request_status__in", ["unsubmitted"]), ("status", "scheduled")),
                                models.Q(
                                    ("request_status__in", ["unsubmitted", "submitted", "rejected"]),
                                    ("status", "on_hold"),
                                ),
                                models.Q(
                                    (
                                        "request_status__in",
                                        ["unsubmitted", "accepted", "cancellation_requested", "cancellation_rejected"],
                                    ),
                                    ("status", "in_progress"),
                                ),
                                models.Q(("request_status__in", ["closed"]), ("status", "incomplete")),
                                models.Q(("request_status__in", ["cancellation_accepted"]), ("status", "cancelled")),
                                models.Q(
                                    (
                                        "request_status__in",
                                        [
                                            "unsubmitted",
                                            "submitted",
                                            "rejected",
                                            "accepted",
                                            "cancellation_requested",
                                            "cancellation_rejected",
                                        ],
                                    ),
                                    ("status", "closed"),
                                ),
                                _connector="OR",
                            ),
                            name="fulfillment_order_state_is_possible",
                            violation_error_code="status",
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="FulfillmentLine",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("quantity", models.PositiveIntegerField(verbose_name="quantity")),
                    (
                        "fulfillment",
                        models.ForeignKey(
                            db_index=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="lines",
                            to="fulfillment.fulfillment",
                            verbose_name="fulfillment",
                        ),
                    ),
                    (
                        "line_item",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="sent_lines",
                            to="orders.lineitem",
                            verbose_name="line item",
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
                        "fulfillment_order",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="sent_lines",
                            to="fulfillment.fulfillmentorder",
                            verbose_name="fulfillment order",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "fulfillment line item",
                    "verbose_name_plural": "fulfillment line items",
                    "ordering": ("fulfillment", "id"),
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("fulfillment", "fulfillment_order", "line_item"),
                            name="fulfillment_line_once_per_order_line",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("quantity__gte", 1)),
                            name="fulfillment_line_has_units",
                            violation_error_code="quantity",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="FulfillmentHold",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    (
                        "reason",
                        models.CharField(
                            choices=[
                                ("awaiting_payment", "Awaiting payment"),
                                ("high_risk_of_fraud", "High risk of fraud"),
                                ("incorrect_address", "Incorrect address"),
                                ("inventory_out_of_stock", "Out of stock"),
                                ("unknown_delivery_date", "Unknown delivery date"),
                                ("awaiting_return_items", "Awaiting returned items"),
                                ("other", "Another reason"),
                            ],
                            max_length=22,
                            verbose_name="reason",
                        ),
                    ),
                    ("reason_notes", models.CharField(blank=True, max_length=1000)),
                    ("actor", models.CharField(max_length=100, verbose_name="actor")),
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
                        "fulfillment_order",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="holds",
                            to="fulfillment.fulfillmentorder",
                            verbose_name="fulfillment order",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "fulfillment hold",
                    "verbose_name_plural": "fulfillment holds",
                    "ordering": ("id",),
                },
            ),
            migrations.CreateModel(
                name="FulfillmentOrderLine",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("quantity", models.PositiveIntegerField(verbose_name="quantity")),
                    ("fulfilled_quantity", models.PositiveIntegerField(default=0, verbose_name="fulfilled quantity")),
                    ("fulfillable_quantity", models.PositiveIntegerField(verbose_name="fulfillable quantity")),
                    (
                        "fulfillment_order",
                        models.ForeignKey(
                            db_index=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="lines",
                            to="fulfillment.fulfillmentorder",
                            verbose_name="fulfillment order",
                        ),
                    ),
                    (
                        "line_item",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="fulfillment_order_lines",
                            to="orders.lineitem",
                            verbose_name="line item",
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
                    "verbose_name": "fulfillment order line item",
                    "verbose_name_plural": "fulfillment order line items",
                    "ordering": ("fulfillment_order", "id"),
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("fulfillment_order", "line_item"), name="fulfillment_orderline_once_per_line_item"
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("quantity__gte", 1)),
                            name="fulfillment_orderline_has_units",
                            violation_error_code="quantity",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(
                                (
                                    "quantity",
                                    django.db.models.expressions.CombinedExpression(
                                        models.F("fulfilled_quantity"), "+", models.F("fulfillable_quantity")
                                    ),
                                )
                            ),
                            name="fulfillment_orderline_units_add_up",
                            violation_error_code="quantity",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="FulfillmentService",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("name", models.CharField(max_length=255, verbose_name="name")),
                    ("handle", models.CharField(editable=False, max_length=255)),
                    (
                        "callback_url",
                        models.URLField(
                            help_text="The base URL of the service's endpoints.",
                            max_length=2048,
                            verbose_name="callback URL",
                        ),
                    ),
                    (
                        "inventory_management",
                        models.BooleanField(
                            default=False,
                            help_text="Request the service's inventory every hour.",
                            verbose_name="reports inventory",
                        ),
                    ),
                    (
                        "tracking_support",
                        models.BooleanField(
                            default=False,
                            help_text="Request tracking numbers every hour.",
                            verbose_name="reports tracking numbers",
                        ),
                    ),
                    (
                        "requires_shipping_method",
                        models.BooleanField(default=True, verbose_name="requires shipping method"),
                    ),
                    (
                        "permits_sku_sharing",
                        models.BooleanField(
                            default=True,
                            help_text="Items stocked by this service can also be stocked at other locations.",
                            verbose_name="permits SKU sharing",
                        ),
                    ),
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
                        "location",
                        models.OneToOneField(
                            editable=False,
                            on_delete=django.db.models.deletion.RESTRICT,
                            related_name="service",
                            to="inventory.location",
                            verbose_name="location",
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
                    "verbose_name": "fulfillment service",
                    "verbose_name_plural": "fulfillment services",
                    "indexes": [
                        models.Index(fields=["shop", "id"], name="fulfillment_service_by_shop"),
                        models.Index(fields=["shop", "app", "id"], name="fulfillment_service_by_app"),
                    ],
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("shop", "name"),
                            name="fulfillment_service_name_once_per_shop",
                            violation_error_code="name",
                            violation_error_message="has already been taken",
                        ),
                        models.UniqueConstraint(
                            fields=("shop", "handle"),
                            name="fulfillment_service_handle_once_per_shop",
                            violation_error_code="name",
                            violation_error_message="has already been taken",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="MerchantRequest",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    (
                        "kind",
                        models.CharField(
                            choices=[("fulfillment_request", "Fulfillment"), ("cancellation_request", "Cancellation")],
                            max_length=20,
                            verbose_name="kind",
                        ),
                    ),
                    ("message", models.CharField(blank=True, max_length=1000, verbose_name="message")),
                    ("notify_customer", models.BooleanField(default=False, verbose_name="notify customer")),
                    ("sent_at", models.DateTimeField()),
                    (
                        "answer",
                        models.CharField(
                            blank=True,
                            choices=[("", "None yet"), ("accepted", "Accepted"), ("rejected", "Rejected")],
                            max_length=8,
                        ),
                    ),
                    ("answer_message", models.CharField(blank=True, max_length=1000)),
                    ("answer_reason", models.CharField(blank=True, max_length=255)),
                    ("line_messages", models.JSONField(default=list)),
                    (
                        "fulfillment_order",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="requests",
                            to="fulfillment.fulfillmentorder",
                            verbose_name="fulfillment order",
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
                    "verbose_name": "merchant request",
                    "verbose_name_plural": "merchant requests",
                    "ordering": ("id",),
                },
            ),
            migrations.CreateModel(
                name="Pull",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    (
                        "kind",
                        models.CharField(
                            choices=[("stock", "Inventory"), ("tracking", "Tracking numbers")], max_length=8
                        ),
                    ),
                    ("next_at", models.DateTimeField(db_index=True)),
                    ("round", models.PositiveIntegerField(default=0)),
                    ("attempt", models.PositiveSmallIntegerField(default=1)),
                    (
                        "service",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="pulls",
                            to="fulfillment.fulfillmentservice",
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
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("service", "kind"), name="fulfillment_pull_once_per_service_and_kind"
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="PullAttempt",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    (
                        "kind",
                        models.CharField(
                            choices=[("stock", "Inventory"), ("tracking", "Tracking numbers")], max_length=8
                        ),
                    ),
                    ("number", models.PositiveSmallIntegerField()),
                    ("url", models.TextField(verbose_name="URL")),
                    ("outcome", models.CharField(max_length=20)),
                    ("status", models.PositiveSmallIntegerField(null=True)),
                    ("changed", models.PositiveIntegerField(default=0)),
                    ("message", apps.core.i18n.messages.MessageField(blank=True, default="")),
                    ("excerpt", models.TextField(blank=True)),
                    ("total_ms", models.PositiveIntegerField(default=0)),
                    (
                        "service",
                        models.ForeignKey(
                            db_index=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="fulfillment.fulfillmentservice",
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
                    "ordering": ("-id",),
                    "indexes": [
                        models.Index(fields=["service", "-id"], name="fulfillment_pull_by_service"),
                        models.Index(fields=["created_at"], name="fulfillment_pull_by_age"),
                    ],
                },
            ),
        ),
    ]
