import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from apps.core.db.migration_operations import CreateModels


class Migration(migrations.Migration):
    dependencies = [("shops", "0003_app_contact_email")]

    operations = [
        CreateModels(
            migrations.CreateModel(
                name="ShopCountry",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("code", models.CharField(editable=False, max_length=2, verbose_name="country")),
                    ("tax_name", models.CharField(max_length=255, verbose_name="tax name")),
                    (
                        "tax",
                        models.DecimalField(decimal_places=16, default=0, max_digits=17, verbose_name="tax rate"),
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
                    "verbose_name": "country",
                    "verbose_name_plural": "countries",
                    "ordering": ("id",),
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("shop", "code"),
                            name="shops_shopcountry_once_per_shop",
                            violation_error_code="code",
                            violation_error_message="has already been taken",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("tax__gte", 0), ("tax__lte", 1)),
                            name="shops_shopcountry_tax_is_a_rate",
                            violation_error_code="tax",
                            violation_error_message="must be between 0 and 1",
                        ),
                    ],
                    "indexes": [models.Index(fields=["shop", "id"], name="shops_shopcountry_by_shop")],
                },
            ),
            migrations.CreateModel(
                name="ShopProvince",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("code", models.CharField(editable=False, max_length=10, verbose_name="state or province code")),
                    ("name", models.CharField(editable=False, max_length=255, verbose_name="state or province")),
                    ("tax_name", models.CharField(blank=True, max_length=255, null=True, verbose_name="tax name")),
                    (
                        "tax_type",
                        models.CharField(
                            blank=True,
                            choices=[
                                ("normal", "Added to the country's tax"),
                                ("harmonized", "Instead of the country's tax"),
                                ("compounded", "On top of the price with the country's tax"),
                            ],
                            max_length=10,
                            null=True,
                            verbose_name="tax type",
                        ),
                    ),
                    (
                        "tax",
                        models.DecimalField(decimal_places=16, default=0, max_digits=17, verbose_name="tax rate"),
                    ),
                    (
                        "country",
                        models.ForeignKey(
                            db_index=False,
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="provinces",
                            to="shops.shopcountry",
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
                    "verbose_name": "province",
                    "verbose_name_plural": "provinces",
                    "ordering": ("id",),
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("country", "code"),
                            name="shops_shopprovince_once_per_country",
                            violation_error_code="code",
                            violation_error_message="has already been taken",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("tax__gte", 0), ("tax__lte", 1)),
                            name="shops_shopprovince_tax_is_a_rate",
                            violation_error_code="tax",
                            violation_error_message="must be between 0 and 1",
                        ),
                    ],
                },
            ),
        ),
    ]
