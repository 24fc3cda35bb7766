from decimal import Decimal

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import apps.core.models
from apps.core.db.migration_operations import AddPostgresIndex, CreateModels, SetFillFactor


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("shops", "0001_initial"),
    ]

    operations = [
        CreateModels(
            migrations.CreateModel(
                name="InventoryItem",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("sku", models.CharField(blank=True, max_length=255, verbose_name="SKU")),
                    (
                        "tracked",
                        models.BooleanField(
                            default=False,
                            help_text="Sales reduce the available quantity of tracked items.",
                            verbose_name="tracked",
                        ),
                    ),
                    ("requires_shipping", models.BooleanField(default=True, verbose_name="requires shipping")),
                    (
                        "cost",
                        models.DecimalField(
                            decimal_places=3,
                            default=Decimal(0),
                            help_text="The cost per item in the shop currency.",
                            max_digits=15,
                            verbose_name="cost",
                        ),
                    ),
                    (
                        "country_code_of_origin",
                        models.CharField(blank=True, max_length=2, null=True, verbose_name="country of origin"),
                    ),
                    (
                        "province_code_of_origin",
                        models.CharField(
                            blank=True, max_length=10, null=True, verbose_name="state or province of origin"
                        ),
                    ),
                    (
                        "harmonized_system_code",
                        models.CharField(blank=True, max_length=13, null=True, verbose_name="HS code"),
                    ),
                    (
                        "country_harmonized_system_codes",
                        models.JSONField(blank=True, default=list, verbose_name="HS codes by country"),
                    ),
                    ("version", apps.core.models.VersionField(default=apps.core.models.create_version, editable=False)),
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
                    "verbose_name": "inventory item",
                    "verbose_name_plural": "inventory items",
                    "indexes": [
                        models.Index(fields=["shop", "id"], name="inventory_item_by_shop"),
                        models.Index(fields=["shop", "sku"], name="inventory_item_by_sku"),
                    ],
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(("cost__gte", 0)),
                            name="inventory_inventoryitem_cost_not_negative",
                            violation_error_message="must be greater than or equal to 0",
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="Location",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("name", models.CharField(max_length=255, verbose_name="name")),
                    ("address1", models.CharField(blank=True, max_length=255, null=True, verbose_name="address")),
                    (
                        "address2",
                        models.CharField(blank=True, max_length=255, null=True, verbose_name="apartment, suite, etc."),
                    ),
                    ("city", models.CharField(blank=True, max_length=255, null=True, verbose_name="city")),
                    ("zip", models.CharField(blank=True, max_length=50, null=True, verbose_name="postal code")),
                    (
                        "province",
                        models.CharField(blank=True, max_length=255, null=True, verbose_name="state or province"),
                    ),
                    (
                        "province_code",
                        models.CharField(
                            blank=True, editable=False, max_length=10, null=True, verbose_name="state or province code"
                        ),
                    ),
                    ("country_code", models.CharField(max_length=2, verbose_name="country")),
                    ("phone", models.CharField(blank=True, max_length=50, null=True, verbose_name="phone")),
                    (
                        "active",
                        models.BooleanField(
                            default=True,
                            editable=False,
                            help_text="Only active locations sell, stock and fulfill items.",
                            verbose_name="active",
                        ),
                    ),
                    ("legacy", models.BooleanField(default=False, editable=False, verbose_name="fulfillment service")),
                    (
                        "permits_sku_sharing",
                        models.BooleanField(
                            default=True,
                            editable=False,
                            help_text="Items stocked at this location can also be stocked at other locations.",
                            verbose_name="permits SKU sharing",
                        ),
                    ),
                    (
                        "priority",
                        models.PositiveSmallIntegerField(
                            default=0,
                            help_text="If several locations can fulfill an order equally well, the location with the lowest priority number is used.",
                            verbose_name="fulfillment priority",
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
                    "verbose_name": "location",
                    "verbose_name_plural": "locations",
                    "ordering": ("name", "id"),
                    "indexes": [models.Index(fields=["shop", "name", "id"], name="inventory_location_by_name")],
                },
            ),
            migrations.CreateModel(
                name="InventoryLevel",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("available", models.IntegerField(default=0, editable=False, verbose_name="available")),
                    ("is_low", models.BooleanField(db_default=False, default=False, editable=False)),
                    ("version", apps.core.models.VersionField(default=apps.core.models.create_version, editable=False)),
                    (
                        "item",
                        models.ForeignKey(
                            db_index=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="levels",
                            to="inventory.inventoryitem",
                            verbose_name="item",
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
                    (
                        "location",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.RESTRICT,
                            related_name="levels",
                            to="inventory.location",
                            verbose_name="location",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "inventory level",
                    "verbose_name_plural": "inventory levels",
                    "indexes": [
                        models.Index(fields=["shop", "location", "id"], name="inventory_level_by_location"),
                        models.Index(
                            condition=models.Q(("is_low", True)), fields=["shop", "item"], name="inventory_level_low"
                        ),
                    ],
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("item", "location"),
                            name="inventory_inventorylevel_one_per_item_and_location",
                            violation_error_message="is stocked at this location already",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("available__gte", -1000000000), ("available__lte", 1000000000)),
                            name="inventory_inventorylevel_available_in_range",
                            violation_error_message="must be between -1000000000 and 1000000000",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="StockMovement",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("delta", models.IntegerField(verbose_name="change")),
                    (
                        "available",
                        models.IntegerField(
                            help_text="The available quantity after the change.", verbose_name="available"
                        ),
                    ),
                    (
                        "reason",
                        models.CharField(
                            choices=[
                                ("correction", "Corrected"),
                                ("count", "Counted"),
                                ("received", "Received"),
                                ("damaged", "Damaged or lost"),
                                ("sale", "Sold"),
                                ("restock", "Restocked"),
                                ("transfer", "Moved to another location"),
                                ("disconnected", "No longer stocked here"),
                                ("service", "Reported by the fulfillment service"),
                            ],
                            max_length=20,
                            verbose_name="reason",
                        ),
                    ),
                    ("actor", models.CharField(max_length=100, verbose_name="actor")),
                    (
                        "reference",
                        models.CharField(
                            blank=True,
                            help_text="What caused the change, for example an order number.",
                            max_length=255,
                            verbose_name="reference",
                        ),
                    ),
                    ("at", models.DateTimeField(verbose_name="changed at")),
                    (
                        "item",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="movements",
                            to="inventory.inventoryitem",
                            verbose_name="item",
                        ),
                    ),
                    (
                        "location",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.RESTRICT,
                            related_name="movements",
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
                    "verbose_name": "inventory change",
                    "verbose_name_plural": "inventory changes",
                    "ordering": ("-id",),
                    "indexes": [
                        models.Index(fields=["item", "location", "-id"], name="inventory_movement_by_level"),
                        models.Index(fields=["shop", "-id"], name="inventory_movement_by_shop"),
                        models.Index(
                            condition=models.Q(("reason", "sale"), _negated=True),
                            fields=["shop", "reason", "-id"],
                            name="inventory_movement_by_reason",
                        ),
                    ],
                },
            ),
        ),
        SetFillFactor("inventorylevel", 85),
        AddPostgresIndex("inventoryitem", "inventory_item_sku_beginnings", "(shop_id, upper(sku) text_pattern_ops)"),
        AddPostgresIndex(
            "stockmovement", "inventory_movement_reference_beginnings", "(shop_id, upper(reference) text_pattern_ops)"
        ),
    ]
