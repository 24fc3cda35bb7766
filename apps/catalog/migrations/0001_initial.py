import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import apps.core.db.case_folding
import apps.core.models
from apps.core.db.migration_operations import AddPostgresIndex, CreateModels, EnsureTrigramExtension, SetFillFactor


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("inventory", "0001_initial"),
        ("shops", "0001_initial"),
    ]

    operations = [
        CreateModels(
            migrations.CreateModel(
                name="Product",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("title", models.CharField(max_length=255, verbose_name="title")),
                    (
                        "title_key",
                        apps.core.db.case_folding.CaseFoldedField(blank=True, default="", editable=False, of="title"),
                    ),
                    (
                        "handle",
                        models.CharField(
                            blank=True,
                            help_text="The part of the URL that identifies the product.",
                            max_length=255,
                            verbose_name="handle",
                        ),
                    ),
                    ("body_html", models.TextField(blank=True, null=True, verbose_name="description")),
                    ("vendor", models.CharField(blank=True, max_length=255, verbose_name="vendor")),
                    (
                        "vendor_key",
                        apps.core.db.case_folding.CaseFoldedField(blank=True, default="", editable=False, of="vendor"),
                    ),
                    ("product_type", models.CharField(blank=True, max_length=255, verbose_name="type")),
                    (
                        "product_type_key",
                        apps.core.db.case_folding.CaseFoldedField(
                            blank=True, default="", editable=False, of="product_type"
                        ),
                    ),
                    ("tags", models.TextField(blank=True, help_text="Separated by commas.", verbose_name="tags")),
                    (
                        "status",
                        models.CharField(
                            choices=[("active", "Active"), ("archived", "Archived"), ("draft", "Draft")],
                            default="active",
                            max_length=10,
                            verbose_name="status",
                        ),
                    ),
                    (
                        "template_suffix",
                        models.CharField(blank=True, max_length=255, null=True, verbose_name="template"),
                    ),
                    (
                        "published_at",
                        models.DateTimeField(
                            blank=True, default=django.utils.timezone.now, null=True, verbose_name="published at"
                        ),
                    ),
                    (
                        "published_scope",
                        models.CharField(
                            choices=[("web", "Online store"), ("global", "Online store and point of sale")],
                            default="web",
                            max_length=10,
                            verbose_name="sales channels",
                        ),
                    ),
                    (
                        "lowest_price",
                        models.DecimalField(
                            decimal_places=3, default=0, editable=False, max_digits=15, verbose_name="lowest price"
                        ),
                    ),
                    ("units_sold", models.PositiveBigIntegerField(default=0, editable=False)),
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
                    "verbose_name": "product",
                    "verbose_name_plural": "products",
                    "indexes": [
                        models.Index(fields=["shop", "id"], name="catalog_product_by_id"),
                        models.Index(fields=["shop", "title_key", "id"], name="catalog_product_by_title"),
                        models.Index(fields=["shop", "-title_key", "id"], name="catalog_product_by_title_desc"),
                        models.Index(fields=["shop", "created_at", "id"], name="catalog_product_by_creation"),
                        models.Index(fields=["shop", "-created_at", "id"], name="catalog_product_newest"),
                        models.Index(fields=["shop", "lowest_price", "id"], name="catalog_product_by_price"),
                        models.Index(fields=["shop", "-lowest_price", "id"], name="catalog_product_dearest"),
                        models.Index(fields=["shop", "published_at", "id"], name="catalog_product_by_publish"),
                        models.Index(fields=["shop", "vendor_key", "id"], name="catalog_product_by_vendor"),
                        models.Index(fields=["shop", "product_type_key", "id"], name="catalog_product_by_type"),
                        models.Index(fields=["shop", "status", "id"], name="catalog_product_by_status"),
                        models.Index(
                            condition=models.Q(("published_scope", "global")),
                            fields=["shop", "id"],
                            name="catalog_product_global",
                        ),
                    ],
                    "constraints": [
                        models.UniqueConstraint(fields=("shop", "handle"), name="catalog_product_handle_unique"),
                        models.CheckConstraint(
                            condition=models.Q(("title", ""), _negated=True),
                            name="catalog_product_has_title",
                            violation_error_message="can't be blank",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="Collection",
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
                            choices=[("custom", "Custom"), ("smart", "Smart")],
                            editable=False,
                            max_length=6,
                            verbose_name="kind",
                        ),
                    ),
                    ("title", models.CharField(max_length=255, verbose_name="title")),
                    (
                        "title_key",
                        apps.core.db.case_folding.CaseFoldedField(blank=True, default="", editable=False, of="title"),
                    ),
                    (
                        "handle",
                        models.CharField(
                            blank=True,
                            help_text="The part of the URL that identifies the collection.",
                            max_length=255,
                            verbose_name="handle",
                        ),
                    ),
                    ("body_html", models.TextField(blank=True, null=True, verbose_name="description")),
                    (
                        "sort_order",
                        models.CharField(
                            choices=[
                                ("alpha-asc", "Title, A to Z"),
                                ("alpha-desc", "Title, Z to A"),
                                ("best-selling", "Best selling"),
                                ("created", "Oldest first"),
                                ("created-desc", "Newest first"),
                                ("manual", "Manual"),
                                ("price-asc", "Price, lowest first"),
                                ("price-desc", "Price, highest first"),
                            ],
                            default="best-selling",
                            max_length=12,
                            verbose_name="sort order",
                        ),
                    ),
                    (
                        "template_suffix",
                        models.CharField(blank=True, max_length=255, null=True, verbose_name="template"),
                    ),
                    (
                        "published_at",
                        models.DateTimeField(
                            blank=True, default=django.utils.timezone.now, null=True, verbose_name="published at"
                        ),
                    ),
                    (
                        "published_scope",
                        models.CharField(
                            choices=[("web", "Online store"), ("global", "Online store and point of sale")],
                            default="web",
                            max_length=10,
                            verbose_name="sales channels",
                        ),
                    ),
                    ("disjunctive", models.BooleanField(default=False, verbose_name="match any rule")),
                    ("rules", models.JSONField(blank=True, default=list, verbose_name="rules")),
                    ("image_key", models.CharField(blank=True, editable=False, max_length=64)),
                    ("image_name", models.CharField(blank=True, editable=False, max_length=255)),
                    (
                        "image_alt",
                        models.CharField(blank=True, max_length=512, null=True, verbose_name="alternative text"),
                    ),
                    ("image_width", models.PositiveIntegerField(editable=False, null=True)),
                    ("image_height", models.PositiveIntegerField(editable=False, null=True)),
                    ("image_created_at", models.DateTimeField(editable=False, null=True)),
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
                    "verbose_name": "collection",
                    "verbose_name_plural": "collections",
                    "indexes": [
                        models.Index(fields=["shop", "kind", "id"], name="catalog_collection_by_id"),
                        models.Index(fields=["shop", "kind", "title", "id"], name="catalog_collection_by_title"),
                    ],
                    "constraints": [
                        models.UniqueConstraint(fields=("shop", "handle"), name="catalog_collection_handle_unique"),
                        models.CheckConstraint(
                            condition=models.Q(("title", ""), _negated=True),
                            name="catalog_collection_has_title",
                            violation_error_message="can't be blank",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="CustomCollection",
                fields=[],
                options={
                    "verbose_name": "custom collection",
                    "verbose_name_plural": "custom collections",
                    "proxy": True,
                    "indexes": [],
                    "constraints": [],
                },
                bases=("catalog.collection",),
            ),
            migrations.CreateModel(
                name="SmartCollection",
                fields=[],
                options={
                    "verbose_name": "smart collection",
                    "verbose_name_plural": "smart collections",
                    "proxy": True,
                    "indexes": [],
                    "constraints": [],
                },
                bases=("catalog.collection",),
            ),
            migrations.CreateModel(
                name="ProductRank",
                fields=[
                    (
                        "of",
                        models.OneToOneField(
                            db_column="id",
                            db_constraint=False,
                            editable=False,
                            on_delete=django.db.models.deletion.DO_NOTHING,
                            primary_key=True,
                            related_name="ranked",
                            serialize=False,
                            to="catalog.product",
                        ),
                    ),
                    ("updated_at", models.DateTimeField()),
                    ("units_sold", models.PositiveBigIntegerField()),
                    (
                        "shop",
                        models.ForeignKey(
                            db_constraint=False,
                            db_index=False,
                            editable=False,
                            on_delete=django.db.models.deletion.DO_NOTHING,
                            related_name="+",
                            to="shops.shop",
                        ),
                    ),
                ],
                options={
                    "indexes": [
                        models.Index(fields=["shop", "updated_at", "of"], name="catalog_rank_by_update"),
                        models.Index(fields=["shop", "-units_sold", "of"], name="catalog_rank_best_selling"),
                    ],
                },
            ),
            migrations.CreateModel(
                name="ManualPlace",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("position", models.PositiveIntegerField(verbose_name="position")),
                    (
                        "collection",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="places",
                            to="catalog.collection",
                            verbose_name="collection",
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
                        "product",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="places",
                            to="catalog.product",
                            verbose_name="product",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "manual position",
                    "verbose_name_plural": "manual positions",
                    "constraints": [
                        models.UniqueConstraint(fields=("collection", "product"), name="catalog_place_product_once")
                    ],
                },
            ),
            migrations.CreateModel(
                name="Collect",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("position", models.PositiveIntegerField(default=1, verbose_name="position")),
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
                        "collection",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="collects",
                            to="catalog.collection",
                            verbose_name="collection",
                        ),
                    ),
                    (
                        "product",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="collects",
                            to="catalog.product",
                            verbose_name="product",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "collect",
                    "verbose_name_plural": "collects",
                    "indexes": [
                        models.Index(fields=["shop", "id"], name="catalog_collect_by_id"),
                        models.Index(fields=["collection", "position", "product"], name="catalog_collect_by_position"),
                    ],
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("collection", "product"),
                            name="catalog_collect_product_once",
                            violation_error_code="product_id",
                            violation_error_message="already exists in this collection",
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="ProductImage",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("position", models.PositiveIntegerField(verbose_name="position")),
                    ("alt", models.CharField(blank=True, max_length=512, null=True, verbose_name="alternative text")),
                    ("key", models.CharField(editable=False, max_length=64)),
                    ("name", models.CharField(editable=False, max_length=255, verbose_name="file name")),
                    (
                        "source",
                        models.CharField(
                            blank=True,
                            db_default="",
                            default="",
                            editable=False,
                            help_text="The hash of the URL that the image was imported from. Blank if the image was uploaded.",
                            max_length=64,
                        ),
                    ),
                    ("width", models.PositiveIntegerField(editable=False)),
                    ("height", models.PositiveIntegerField(editable=False)),
                    (
                        "product",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="images",
                            to="catalog.product",
                            verbose_name="product",
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
                    "verbose_name": "product image",
                    "verbose_name_plural": "product images",
                    "ordering": ("position", "id"),
                    "indexes": [models.Index(fields=["product", "position", "id"], name="catalog_image_by_position")],
                },
            ),
            migrations.CreateModel(
                name="ProductOption",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("name", models.CharField(max_length=255, verbose_name="name")),
                    ("position", models.PositiveSmallIntegerField(verbose_name="position")),
                    ("values", models.JSONField(default=list, help_text="The values, in order.")),
                    (
                        "product",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="options",
                            to="catalog.product",
                            verbose_name="product",
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
                    "verbose_name": "product option",
                    "verbose_name_plural": "product options",
                    "ordering": ("position", "id"),
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(("position__gte", 1), ("position__lte", 3)),
                            name="catalog_option_at_most_three",
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="ProductTag",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("name", models.CharField(max_length=255, verbose_name="name")),
                    ("key", models.CharField(help_text="The case-folded name.", max_length=765)),
                    (
                        "product",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="tag_rows",
                            to="catalog.product",
                            verbose_name="product",
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
                    "verbose_name": "product tag",
                    "verbose_name_plural": "product tags",
                    "indexes": [models.Index(fields=["shop", "key", "product"], name="catalog_tag_by_key")],
                    "constraints": [
                        models.UniqueConstraint(fields=("product", "key"), name="catalog_tag_once_per_product")
                    ],
                },
            ),
            migrations.CreateModel(
                name="Variant",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    (
                        "title",
                        models.CharField(default="Default Title", editable=False, max_length=800, verbose_name="title"),
                    ),
                    (
                        "title_key",
                        apps.core.db.case_folding.CaseFoldedField(blank=True, default="", editable=False, of="title"),
                    ),
                    ("option1", models.CharField(default="Default Title", max_length=255, verbose_name="option 1")),
                    ("option2", models.CharField(blank=True, max_length=255, null=True, verbose_name="option 2")),
                    ("option3", models.CharField(blank=True, max_length=255, null=True, verbose_name="option 3")),
                    ("position", models.PositiveIntegerField(default=1, verbose_name="position")),
                    ("price", models.DecimalField(decimal_places=3, default=0, max_digits=15, verbose_name="price")),
                    (
                        "compare_at_price",
                        models.DecimalField(
                            blank=True, decimal_places=3, max_digits=15, null=True, verbose_name="compare-at price"
                        ),
                    ),
                    (
                        "fixed_prices",
                        models.JSONField(blank=True, editable=False, help_text="Fixed prices by currency.", null=True),
                    ),
                    ("barcode", models.CharField(blank=True, max_length=255, null=True, verbose_name="barcode")),
                    ("taxable", models.BooleanField(default=True, verbose_name="taxable")),
                    ("tax_code", models.CharField(blank=True, max_length=255, verbose_name="tax code")),
                    (
                        "inventory_policy",
                        models.CharField(
                            choices=[
                                ("deny", "Stop selling when out of stock"),
                                ("continue", "Continue selling when out of stock"),
                            ],
                            default="deny",
                            max_length=10,
                            verbose_name="when sold out",
                        ),
                    ),
                    (
                        "inventory_quantity",
                        models.BigIntegerField(default=0, editable=False, verbose_name="inventory quantity"),
                    ),
                    (
                        "fulfillment_service",
                        models.CharField(
                            default="manual",
                            help_text="The handle of the fulfillment service.",
                            max_length=255,
                            verbose_name="fulfillment service",
                        ),
                    ),
                    ("grams", models.PositiveBigIntegerField(default=0)),
                    ("weight", models.DecimalField(decimal_places=6, default=0, max_digits=15, verbose_name="weight")),
                    (
                        "weight_unit",
                        models.CharField(
                            choices=[("g", "Grams"), ("kg", "Kilograms"), ("oz", "Ounces"), ("lb", "Pounds")],
                            default="kg",
                            max_length=2,
                            verbose_name="weight unit",
                        ),
                    ),
                    (
                        "image",
                        models.ForeignKey(
                            blank=True,
                            null=True,
                            on_delete=django.db.models.deletion.SET_NULL,
                            related_name="variants",
                            to="catalog.productimage",
                            verbose_name="image",
                        ),
                    ),
                    (
                        "inventory_item",
                        models.OneToOneField(
                            on_delete=django.db.models.deletion.RESTRICT,
                            related_name="variant",
                            to="inventory.inventoryitem",
                            verbose_name="inventory item",
                        ),
                    ),
                    (
                        "product",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="variants",
                            to="catalog.product",
                            verbose_name="product",
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
                    "verbose_name": "variant",
                    "verbose_name_plural": "variants",
                    "ordering": ("position", "id"),
                    "indexes": [
                        models.Index(fields=["shop", "product", "position", "id"], name="catalog_variant_by_place"),
                        models.Index(fields=["shop", "id"], name="catalog_variant_by_id"),
                        models.Index(fields=["shop", "barcode"], name="catalog_variant_by_barcode"),
                        models.Index(fields=["shop", "price", "id"], name="catalog_variant_by_price"),
                        models.Index(
                            condition=models.Q(("inventory_policy", "continue")),
                            fields=["shop", "id"],
                            name="catalog_variant_continued",
                        ),
                        models.Index(
                            condition=models.Q(("taxable", False)),
                            fields=["shop", "id"],
                            name="catalog_variant_untaxed",
                        ),
                    ],
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(("price__gte", 0)),
                            name="catalog_variant_price_not_negative",
                            violation_error_message="must be greater than or equal to 0",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("compare_at_price__gte", 0)),
                            name="catalog_variant_compare_price_not_negative",
                            violation_error_message="must be greater than or equal to 0",
                        ),
                    ],
                },
            ),
        ),
        EnsureTrigramExtension(),
        SetFillFactor("product", 80),
        SetFillFactor("variant", 85),
        AddPostgresIndex("product", "catalog_product_title_parts", "USING gin (title_key gin_trgm_ops)"),
        AddPostgresIndex("product", "catalog_product_handle_beginnings", "(shop_id, upper(handle) text_pattern_ops)"),
        AddPostgresIndex("product", "catalog_product_vendor_beginnings", "(shop_id, vendor_key text_pattern_ops, id)"),
        AddPostgresIndex("variant", "catalog_variant_title_beginnings", "(shop_id, title_key text_pattern_ops)"),
    ]
