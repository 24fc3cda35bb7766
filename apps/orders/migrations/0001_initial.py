from decimal import Decimal

import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.text
import django.utils.timezone
from django.db import migrations, models

import apps.core.models
import apps.orders.models.bases
import apps.orders.models.orders
from apps.core.db.migration_operations import (
    AddExpressionStatistics,
    AddPostgresIndex,
    CreateModels,
    EnsureTrigramExtension,
)


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("catalog", "0001_initial"),
        ("customers", "0001_initial"),
        ("shops", "0001_initial"),
    ]

    operations = [
        CreateModels(
            migrations.CreateModel(
                name="Order",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("number", models.PositiveBigIntegerField(editable=False)),
                    ("name", models.CharField(editable=False, max_length=64, verbose_name="order")),
                    (
                        "token",
                        models.CharField(
                            default=apps.orders.models.orders.new_token, editable=False, max_length=32, unique=True
                        ),
                    ),
                    (
                        "confirmation_number",
                        models.CharField(
                            default=apps.orders.models.orders.new_confirmation_number, editable=False, max_length=9
                        ),
                    ),
                    ("email", models.EmailField(blank=True, max_length=255, verbose_name="email")),
                    ("phone", models.CharField(blank=True, max_length=50, verbose_name="phone")),
                    ("buyer_accepts_marketing", models.BooleanField(default=False)),
                    ("billing_address", models.JSONField(blank=True, null=True, verbose_name="billing address")),
                    ("shipping_address", models.JSONField(blank=True, null=True, verbose_name="shipping address")),
                    ("browser_ip", models.GenericIPAddressField(blank=True, editable=False, null=True)),
                    ("client_details", models.JSONField(blank=True, editable=False, null=True)),
                    (
                        "status",
                        models.CharField(
                            choices=[("open", "Open"), ("closed", "Closed"), ("cancelled", "Canceled")],
                            default="open",
                            editable=False,
                            max_length=9,
                            verbose_name="status",
                        ),
                    ),
                    (
                        "financial_status",
                        models.CharField(
                            choices=[
                                ("pending", "Payment pending"),
                                ("authorized", "Authorized"),
                                ("partially_paid", "Partially paid"),
                                ("paid", "Paid"),
                                ("partially_refunded", "Partially refunded"),
                                ("refunded", "Refunded"),
                                ("voided", "Voided"),
                            ],
                            default="pending",
                            editable=False,
                            max_length=18,
                            verbose_name="financial status",
                        ),
                    ),
                    (
                        "fulfillment_status",
                        models.CharField(
                            blank=True,
                            choices=[
                                ("", "Unfulfilled"),
                                ("partial", "Partially fulfilled"),
                                ("fulfilled", "Fulfilled"),
                                ("restocked", "Restocked"),
                            ],
                            editable=False,
                            max_length=9,
                            verbose_name="fulfillment status",
                        ),
                    ),
                    (
                        "processed_at",
                        models.DateTimeField(
                            default=django.utils.timezone.now, editable=False, verbose_name="order date"
                        ),
                    ),
                    (
                        "cancelled_at",
                        models.DateTimeField(blank=True, editable=False, null=True, verbose_name="cancelled at"),
                    ),
                    (
                        "cancel_reason",
                        models.CharField(
                            blank=True,
                            choices=[
                                ("customer", "The customer changed their mind"),
                                ("fraud", "Fraud"),
                                ("inventory", "Out of stock"),
                                ("declined", "Payment declined"),
                                ("staff", "Staff error"),
                                ("other", "Another reason"),
                            ],
                            editable=False,
                            max_length=9,
                        ),
                    ),
                    ("closed_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    ("redacted_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    ("currency", models.CharField(editable=False, max_length=3)),
                    ("presentment_currency", models.CharField(editable=False, max_length=3)),
                    (
                        "exchange_rate",
                        models.DecimalField(decimal_places=12, default=Decimal(1), editable=False, max_digits=24),
                    ),
                    ("taxes_included", models.BooleanField(default=False, editable=False)),
                    ("tax_exempt", models.BooleanField(default=False, editable=False)),
                    ("duties_included", models.BooleanField(default=False, editable=False)),
                    ("estimated_taxes", models.BooleanField(default=False, editable=False)),
                    (
                        "total_line_items_price",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "total_discounts",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "subtotal_price",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "total_shipping_price",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "total_tax",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "total_duties",
                        apps.orders.models.orders.MoneyColumn(
                            db_default=0, decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "total_tip_received",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "total_price",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "current_subtotal_price",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "current_total_discounts",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "current_total_tax",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "current_total_duties",
                        apps.orders.models.orders.MoneyColumn(
                            db_default=0, decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "current_total_price",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "total_paid",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3,
                            default=Decimal(0),
                            editable=False,
                            help_text="Successful sales and captures.",
                            max_digits=20,
                        ),
                    ),
                    (
                        "total_refunded",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3,
                            default=Decimal(0),
                            editable=False,
                            help_text="Successful refunds.",
                            max_digits=20,
                        ),
                    ),
                    (
                        "total_removed",
                        apps.orders.models.orders.MoneyColumn(
                            db_default=0,
                            decimal_places=3,
                            default=Decimal(0),
                            editable=False,
                            help_text="The price of items removed without a refund, with taxes.",
                            max_digits=20,
                        ),
                    ),
                    (
                        "refund_discrepancy",
                        apps.orders.models.orders.MoneyColumn(
                            db_default=0,
                            decimal_places=3,
                            default=Decimal(0),
                            editable=False,
                            help_text="The amount withheld by refunds; negative if refunds exceeded the price.",
                            max_digits=20,
                        ),
                    ),
                    ("total_weight", models.PositiveBigIntegerField(default=0, editable=False, help_text="Grams.")),
                    ("discount_codes", models.JSONField(default=list, editable=False)),
                    ("discount_applications", models.JSONField(default=list, editable=False)),
                    ("tax_lines", models.JSONField(default=list, editable=False)),
                    ("payment_gateway_names", models.JSONField(default=list, editable=False)),
                    ("note", models.TextField(blank=True, max_length=5000, verbose_name="note")),
                    ("note_attributes", models.JSONField(blank=True, default=list)),
                    ("tags", models.TextField(blank=True, help_text="Separated by commas.", verbose_name="tags")),
                    ("po_number", models.CharField(blank=True, max_length=255, verbose_name="PO number")),
                    ("source_name", models.CharField(blank=True, editable=False, max_length=255)),
                    ("source_identifier", models.CharField(blank=True, editable=False, max_length=255)),
                    ("source_url", models.CharField(blank=True, editable=False, max_length=2048)),
                    ("reference", models.CharField(blank=True, editable=False, max_length=255)),
                    ("landing_site", models.CharField(blank=True, editable=False, max_length=2048)),
                    ("referring_site", models.CharField(blank=True, editable=False, max_length=2048)),
                    ("customer_locale", models.CharField(blank=True, editable=False, max_length=20)),
                    (
                        "inventory_behaviour",
                        models.CharField(
                            choices=[
                                ("bypass", "Do not change inventory"),
                                ("decrement_ignoring_policy", "Reduce inventory, even below zero"),
                                ("decrement_obeying_policy", "Reduce inventory according to each variant's policy"),
                            ],
                            default="bypass",
                            editable=False,
                            max_length=25,
                        ),
                    ),
                    ("test", models.BooleanField(default=False, editable=False, verbose_name="test")),
                    (
                        "units_counted",
                        models.BooleanField(
                            default=False,
                            editable=False,
                            help_text="Whether the items are counted in best-selling lists.",
                        ),
                    ),
                    ("version", apps.core.models.VersionField(default=apps.core.models.create_version, editable=False)),
                    (
                        "app",
                        models.ForeignKey(
                            blank=True,
                            db_index=False,
                            editable=False,
                            null=True,
                            on_delete=django.db.models.deletion.SET_NULL,
                            related_name="+",
                            to="shops.app",
                        ),
                    ),
                    (
                        "customer",
                        models.ForeignKey(
                            blank=True,
                            db_index=False,
                            null=True,
                            on_delete=django.db.models.deletion.RESTRICT,
                            related_name="orders",
                            to="customers.customer",
                            verbose_name="customer",
                        ),
                    ),
                    (
                        "shop",
                        models.ForeignKey(
                            db_index=False,
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="shops.shop",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "order",
                    "verbose_name_plural": "orders",
                    "ordering": ("-id",),
                    "indexes": [
                        models.Index(fields=["shop", "id"], name="orders_order_by_shop"),
                        models.Index(fields=["shop", "status", "id"], name="orders_order_by_status"),
                        models.Index(fields=["shop", "financial_status", "id"], name="orders_order_by_payment"),
                        models.Index(fields=["shop", "fulfillment_status", "id"], name="orders_order_by_fulfillment"),
                        models.Index(fields=["shop", "status", "financial_status", "id"], name="orders_order_by_debt"),
                        models.Index(
                            fields=["shop", "status", "fulfillment_status", "id"], name="orders_order_by_work"
                        ),
                        models.Index(
                            condition=models.Q(("test", True)), fields=["shop", "id"], name="orders_order_tests"
                        ),
                        models.Index(
                            condition=models.Q(("status", "open")),
                            fields=["shop", "processed_at", "id"],
                            name="orders_order_open_by_date",
                        ),
                        models.Index(
                            condition=models.Q(("status", "open")),
                            fields=["shop", "total_price", "id"],
                            name="orders_order_open_by_total",
                        ),
                        models.Index(fields=["shop", "customer", "id"], name="orders_order_by_customer"),
                        models.Index(fields=["customer", "processed_at", "id"], name="orders_order_of_customer_last"),
                        models.Index(fields=["shop", "name"], name="orders_order_by_name"),
                        models.Index(fields=["shop", "email"], name="orders_order_by_email"),
                        models.Index(fields=["shop", "created_at", "id"], name="orders_order_by_creation"),
                        models.Index(fields=["shop", "updated_at", "id"], name="orders_order_by_update"),
                        models.Index(fields=["shop", "processed_at", "id"], name="orders_order_by_processing"),
                        models.Index(fields=["shop", "total_price", "id"], name="orders_order_by_total"),
                        models.Index(fields=["shop", "app", "id"], name="orders_order_by_app"),
                        models.Index(
                            models.F("shop"),
                            django.db.models.functions.text.Upper("source_name"),
                            models.F("id"),
                            condition=models.Q(("source_name", ""), _negated=True),
                            name="orders_order_by_channel",
                        ),
                    ],
                    "constraints": [
                        models.UniqueConstraint(fields=("shop", "number"), name="orders_order_number_is_unique"),
                        models.CheckConstraint(
                            condition=models.Q(
                                ("subtotal_price__gte", 0),
                                ("total_discounts__gte", 0),
                                ("total_price__gte", 0),
                                ("total_tax__gte", 0),
                            ),
                            name="orders_order_totals_not_negative",
                            violation_error_code="total_price",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(
                                ("total_paid__gte", 0),
                                ("total_refunded__gte", 0),
                                ("total_refunded__lte", models.F("total_paid")),
                            ),
                            name="orders_order_refunds_at_most_what_was_paid",
                            violation_error_code="total_price",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("exchange_rate__gt", 0)), name="orders_order_rate_is_positive"
                        ),
                        models.CheckConstraint(
                            condition=models.Q(
                                models.Q(("cancelled_at__isnull", False), ("status", "cancelled")),
                                models.Q(("cancelled_at", None), ("closed_at__isnull", False), ("status", "closed")),
                                models.Q(("cancelled_at", None), ("closed_at", None), ("status", "open")),
                                _connector="OR",
                            ),
                            name="orders_order_status_fits_its_moments",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="LineItem",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("position", models.PositiveIntegerField(default=0)),
                    ("title", models.CharField(max_length=255)),
                    ("variant_title", models.CharField(blank=True, max_length=800)),
                    ("name", models.CharField(max_length=1100)),
                    ("sku", models.CharField(blank=True, max_length=255, verbose_name="SKU")),
                    ("vendor", models.CharField(blank=True, max_length=255)),
                    ("grams", models.PositiveBigIntegerField(default=0)),
                    (
                        "price",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3,
                            default=Decimal(0),
                            editable=False,
                            help_text="The price of one item, without discounts.",
                            max_digits=20,
                        ),
                    ),
                    ("quantity", models.PositiveIntegerField()),
                    ("current_quantity", models.PositiveIntegerField()),
                    ("fulfillable_quantity", models.PositiveIntegerField()),
                    ("fulfilled_quantity", models.PositiveIntegerField(default=0)),
                    ("refunded_quantity", models.PositiveIntegerField(db_default=0, default=0)),
                    (
                        "total_discount",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3,
                            default=Decimal(0),
                            editable=False,
                            help_text="The line item's own discount, without its share of order discounts.",
                            max_digits=20,
                        ),
                    ),
                    (
                        "discount",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3,
                            default=Decimal(0),
                            editable=False,
                            help_text="All discounts of the line item.",
                            max_digits=20,
                        ),
                    ),
                    (
                        "tax",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3,
                            default=Decimal(0),
                            editable=False,
                            help_text="All taxes of the line item.",
                            max_digits=20,
                        ),
                    ),
                    ("tax_lines", models.JSONField(default=list)),
                    (
                        "duty",
                        apps.orders.models.orders.MoneyColumn(
                            db_default=0, decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "duty_tax",
                        apps.orders.models.orders.MoneyColumn(
                            db_default=0, decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "refunded_duty",
                        apps.orders.models.orders.MoneyColumn(
                            db_default=0, decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "refunded_duty_tax",
                        apps.orders.models.orders.MoneyColumn(
                            db_default=0, decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    ("duties", models.JSONField(db_default=models.Value([], models.JSONField()), default=list)),
                    ("discount_allocations", models.JSONField(default=list)),
                    ("properties", models.JSONField(default=list)),
                    ("requires_shipping", models.BooleanField(default=True)),
                    ("taxable", models.BooleanField(default=True)),
                    ("gift_card", models.BooleanField(default=False)),
                    ("fulfillment_service", models.CharField(default="manual", max_length=255)),
                    ("variant_inventory_management", models.CharField(blank=True, max_length=255)),
                    ("taken_from", models.JSONField(default=dict)),
                    (
                        "product",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=apps.orders.models.bases.forget,
                            related_name="+",
                            to="catalog.product",
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
                        "variant",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=apps.orders.models.bases.forget,
                            related_name="+",
                            to="catalog.variant",
                        ),
                    ),
                    (
                        "order",
                        models.ForeignKey(
                            db_index=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="line_items",
                            to="orders.order",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "line item",
                    "verbose_name_plural": "line items",
                    "ordering": ("order", "position", "id"),
                    "indexes": [
                        models.Index(fields=["order", "position", "id"], name="orders_lineitem_by_order"),
                        models.Index(
                            models.F("shop"),
                            django.db.models.functions.text.Upper("sku"),
                            models.F("order"),
                            condition=models.Q(("sku", ""), _negated=True),
                            name="orders_lineitem_by_sku",
                        ),
                    ],
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(("quantity__gte", 1)),
                            name="orders_lineitem_has_units",
                            violation_error_code="quantity",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(
                                ("current_quantity__lte", models.F("quantity")),
                                (
                                    "fulfillable_quantity__lte",
                                    django.db.models.expressions.CombinedExpression(
                                        models.F("quantity"), "-", models.F("fulfilled_quantity")
                                    ),
                                ),
                            ),
                            name="orders_lineitem_units_add_up",
                            violation_error_code="quantity",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(
                                (
                                    "current_quantity__lte",
                                    django.db.models.expressions.CombinedExpression(
                                        models.F("quantity"), "-", models.F("refunded_quantity")
                                    ),
                                ),
                                ("refunded_quantity__lte", models.F("quantity")),
                            ),
                            name="orders_lineitem_refunded_at_most_what_was_bought",
                            violation_error_code="quantity",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("discount__gte", 0), ("price__gte", 0), ("tax__gte", 0)),
                            name="orders_lineitem_amounts_not_negative",
                            violation_error_code="price",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(
                                ("refunded_duty__gte", 0),
                                ("refunded_duty__lte", models.F("duty")),
                                ("refunded_duty_tax__gte", 0),
                                ("refunded_duty_tax__lte", models.F("duty_tax")),
                            ),
                            name="orders_lineitem_refunded_duties_at_most_what_was_paid",
                            violation_error_code="duties",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="Comment",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("body", models.TextField(max_length=5000)),
                    ("actor", models.CharField(max_length=100)),
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
                        "order",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE, related_name="comments", to="orders.order"
                        ),
                    ),
                ],
                options={
                    "verbose_name": "comment",
                    "verbose_name_plural": "comments",
                    "ordering": ("id",),
                },
            ),
            migrations.CreateModel(
                name="OpenOrder",
                fields=[],
                options={
                    "proxy": True,
                    "indexes": [],
                    "constraints": [],
                },
                bases=("orders.order",),
            ),
            migrations.CreateModel(
                name="OrderCounter",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("last_number", models.PositiveBigIntegerField(default=0)),
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
                    "constraints": [models.UniqueConstraint(fields=("shop",), name="orders_ordercounter_one_per_shop")],
                },
            ),
            migrations.CreateModel(
                name="ShippingLine",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("title", models.CharField(max_length=255)),
                    ("code", models.CharField(blank=True, max_length=255)),
                    ("source", models.CharField(blank=True, max_length=255)),
                    ("carrier_identifier", models.CharField(blank=True, max_length=255)),
                    ("phone", models.CharField(blank=True, max_length=50)),
                    (
                        "price",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "discount",
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
                        "refunded",
                        apps.orders.models.orders.MoneyColumn(
                            db_default=0, decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "refunded_tax",
                        apps.orders.models.orders.MoneyColumn(
                            db_default=0, decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    ("tax_lines", models.JSONField(default=list)),
                    ("discount_allocations", models.JSONField(default=list)),
                    ("is_removed", models.BooleanField(default=False)),
                    (
                        "order",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="shipping_lines",
                            to="orders.order",
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
                    "verbose_name": "shipping line",
                    "verbose_name_plural": "shipping lines",
                    "ordering": ("id",),
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(
                                ("discount__gte", 0),
                                ("discount__lte", models.F("price")),
                                ("price__gte", 0),
                                ("tax__gte", 0),
                            ),
                            name="orders_shippingline_discount_at_most_its_price",
                            violation_error_code="price",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(
                                ("refunded__gte", 0),
                                (
                                    "refunded__lte",
                                    django.db.models.expressions.CombinedExpression(
                                        models.F("price"), "-", models.F("discount")
                                    ),
                                ),
                                ("refunded_tax__gte", 0),
                                ("refunded_tax__lte", models.F("tax")),
                            ),
                            name="orders_shippingline_refunded_at_most_its_price",
                            violation_error_code="price",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="Transaction",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("sequence", models.PositiveIntegerField(help_text="Counts the transactions of an order from 1.")),
                    (
                        "kind",
                        models.CharField(
                            choices=[
                                ("authorization", "Authorization"),
                                ("capture", "Capture"),
                                ("sale", "Sale"),
                                ("void", "Void"),
                                ("refund", "Refund"),
                            ],
                            max_length=13,
                        ),
                    ),
                    (
                        "status",
                        models.CharField(
                            choices=[
                                ("pending", "Pending"),
                                ("success", "Success"),
                                ("failure", "Failure"),
                                ("error", "Error"),
                            ],
                            default="success",
                            max_length=7,
                        ),
                    ),
                    ("gateway", models.CharField(default="manual", max_length=255)),
                    (
                        "amount",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    ("currency", models.CharField(max_length=3)),
                    (
                        "shop_amount",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "unsettled",
                        apps.orders.models.orders.MoneyColumn(
                            decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    (
                        "refunded",
                        apps.orders.models.orders.MoneyColumn(
                            db_default=0, decimal_places=3, default=Decimal(0), editable=False, max_digits=20
                        ),
                    ),
                    ("authorization", models.CharField(blank=True, max_length=255)),
                    ("message", models.CharField(blank=True, max_length=1000)),
                    ("error_code", models.CharField(blank=True, max_length=100)),
                    ("receipt", models.JSONField(default=dict)),
                    ("source_name", models.CharField(blank=True, max_length=255)),
                    ("user_id", models.BigIntegerField(blank=True, null=True)),
                    ("test", models.BooleanField(default=False)),
                    ("processed_at", models.DateTimeField(default=django.utils.timezone.now)),
                    (
                        "order",
                        models.ForeignKey(
                            db_index=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="transactions",
                            to="orders.order",
                        ),
                    ),
                    (
                        "parent",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="children",
                            to="orders.transaction",
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
                    "verbose_name": "transaction",
                    "verbose_name_plural": "transactions",
                    "ordering": ("order", "id"),
                    "indexes": [
                        models.Index(fields=["order", "id"], name="orders_transaction_by_order"),
                        models.Index(
                            condition=models.Q(("authorization", ""), _negated=True),
                            fields=["shop", "authorization"],
                            name="orders_transaction_by_code",
                        ),
                        models.Index(
                            condition=models.Q(("kind", "refund"), ("status__in", ("failure", "error"))),
                            fields=["shop", "id"],
                            name="orders_transaction_failed",
                        ),
                    ],
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("order", "sequence"), name="orders_transaction_sequence_is_unique"
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("amount__gte", 0), ("shop_amount__gte", 0), ("unsettled__gte", 0)),
                            name="orders_transaction_amounts_not_negative",
                            violation_error_code="amount",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("refunded__gte", 0), ("refunded__lte", models.F("amount"))),
                            name="orders_transaction_refunded_at_most_what_was_paid",
                            violation_error_code="amount",
                        ),
                    ],
                },
            ),
        ),
        EnsureTrigramExtension(),
        AddPostgresIndex(
            "order", "orders_order_by_city", "(shop_id, upper(((shipping_address ->> 'city'))::text), id)"
        ),
        AddPostgresIndex("order", "orders_order_tag_parts", "USING gin (upper(tags) gin_trgm_ops) WHERE tags <> ''"),
        AddPostgresIndex(
            "order", "orders_order_by_tag", "USING gin (string_to_array(upper(tags), ', ')) WHERE tags <> ''"
        ),
        AddExpressionStatistics("order", "orders_order_channels", "upper(source_name)"),
        AddExpressionStatistics("order", "orders_order_tags", "string_to_array(upper(tags), ', ')"),
    ]
