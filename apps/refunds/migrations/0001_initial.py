import uuid
from decimal import Decimal

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import apps.orders.models.orders
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
                name="Refund",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("note", models.TextField(blank=True, max_length=5000, verbose_name="note")),
                    (
                        "reason",
                        models.CharField(
                            blank=True,
                            choices=[
                                ("restock", "Restocking fee"),
                                ("damage", "Damage"),
                                ("customer", "Goodwill"),
                                ("other", "Other"),
                            ],
                            db_default="",
                            max_length=8,
                            verbose_name="reason",
                        ),
                    ),
                    ("user_id", models.BigIntegerField(blank=True, null=True)),
                    (
                        "restock",
                        models.BooleanField(default=False, help_text="Checked if refunded items were restocked."),
                    ),
                    (
                        "processed_at",
                        models.DateTimeField(default=django.utils.timezone.now, verbose_name="refund date"),
                    ),
                    (
                        "total_duties",
                        apps.orders.models.orders.MoneyColumn(
                            db_default=0,
                            decimal_places=3,
                            default=Decimal(0),
                            editable=False,
                            help_text="The refunded duties, excluding taxes.",
                            max_digits=20,
                        ),
                    ),
                    (
                        "order",
                        models.ForeignKey(
                            db_index=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="refunds",
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
                    "verbose_name": "refund",
                    "verbose_name_plural": "refunds",
                    "ordering": ("id",),
                    "indexes": [
                        models.Index(fields=["order", "id"], name="refunds_refund_by_order"),
                        models.Index(fields=["shop", "created_at", "id"], name="refunds_refund_by_creation"),
                        models.Index(fields=["shop", "processed_at", "id"], name="refunds_refund_by_moment"),
                    ],
                },
            ),
            migrations.CreateModel(
                name="OrderAdjustment",
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
                            choices=[
                                ("shipping_refund", "Shipping refund"),
                                ("refund_discrepancy", "Refund discrepancy"),
                            ],
                            max_length=18,
                        ),
                    ),
                    (
                        "amount",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "tax_amount",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    ("reason", models.CharField(max_length=255, verbose_name="reason")),
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
                        "refund",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="order_adjustments",
                            to="refunds.refund",
                            verbose_name="refund",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "order adjustment",
                    "verbose_name_plural": "order adjustments",
                    "ordering": ("id",),
                },
            ),
            migrations.CreateModel(
                name="RefundDuty",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("duty_id", models.BigIntegerField(verbose_name="duty ID")),
                    (
                        "amount",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "tax",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "line_item",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE, related_name="+", to="orders.lineitem"
                        ),
                    ),
                    (
                        "refund",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="duties",
                            to="refunds.refund",
                            verbose_name="refund",
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
                    "verbose_name": "refund duty",
                    "verbose_name_plural": "refund duties",
                    "ordering": ("id",),
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("refund", "duty_id"), name="refunds_refundduty_once_in_a_refund"
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("amount__gte", 0), ("tax__gte", 0)),
                            name="refunds_refundduty_not_negative",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="RefundLineItem",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("quantity", models.PositiveIntegerField(verbose_name="quantity")),
                    (
                        "restock_type",
                        models.CharField(
                            choices=[
                                ("no_restock", "Not restocked"),
                                ("cancel", "Canceled before fulfillment"),
                                ("return", "Returned"),
                                ("legacy_restock", "Restocked (legacy)"),
                            ],
                            default="no_restock",
                            max_length=14,
                            verbose_name="restock type",
                        ),
                    ),
                    (
                        "subtotal",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3,
                            default=Decimal(0),
                            editable=False,
                            help_text="The amount paid for the items, after all discounts.",
                            max_digits=20,
                        ),
                    ),
                    (
                        "total_tax",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "line_item",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="refund_line_items",
                            to="orders.lineitem",
                        ),
                    ),
                    (
                        "location",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.RESTRICT,
                            related_name="+",
                            to="inventory.location",
                        ),
                    ),
                    (
                        "refund",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="refund_line_items",
                            to="refunds.refund",
                            verbose_name="refund",
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
                    "verbose_name": "refund line item",
                    "verbose_name_plural": "refund line items",
                    "ordering": ("id",),
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(("quantity__gte", 1), ("subtotal__gte", 0), ("total_tax__gte", 0)),
                            name="refunds_refundlineitem_has_units",
                            violation_error_code="quantity",
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="RefundPayment",
                fields=[
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    (
                        "transaction",
                        models.OneToOneField(
                            on_delete=django.db.models.deletion.CASCADE,
                            primary_key=True,
                            related_name="refund_payment",
                            serialize=False,
                            to="orders.transaction",
                            verbose_name="transaction",
                        ),
                    ),
                    ("key", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                    ("asked_at", models.DateTimeField(blank=True, null=True)),
                    (
                        "refund",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="transactions",
                            to="refunds.refund",
                            verbose_name="refund",
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
                    "verbose_name": "refund payment",
                    "verbose_name_plural": "refund payments",
                    "ordering": ("transaction",),
                },
            ),
            migrations.CreateModel(
                name="RefundShippingLine",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    (
                        "amount",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "tax",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "refund",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="refund_shipping_lines",
                            to="refunds.refund",
                            verbose_name="refund",
                        ),
                    ),
                    (
                        "shipping_line",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE, related_name="+", to="orders.shippingline"
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
                    "verbose_name": "refund shipping line",
                    "verbose_name_plural": "refund shipping lines",
                    "ordering": ("id",),
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(("amount__gte", 0), ("tax__gte", 0)),
                            name="refunds_refundshippingline_not_negative",
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="BogusMovement",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("key", models.UUIDField(unique=True)),
                    (
                        "amount",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    ("currency", models.CharField(max_length=3, verbose_name="currency")),
                    (
                        "status",
                        models.CharField(
                            choices=[
                                ("pending", "Pending"),
                                ("success", "Success"),
                                ("failure", "Failure"),
                                ("error", "Error"),
                            ],
                            max_length=7,
                        ),
                    ),
                    ("message", models.CharField(blank=True, max_length=1000)),
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
                    "verbose_name": "test gateway transaction",
                    "verbose_name_plural": "test gateway transactions",
                    "ordering": ("id",),
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(("amount__gt", 0)), name="refunds_bogusmovement_moves_something"
                        )
                    ],
                },
            ),
        ),
    ]
