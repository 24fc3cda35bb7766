import django.core.validators
import django.utils.timezone
from django.db import migrations, models

import apps.core.db.encrypted_fields
import apps.core.models
import apps.core.tenancy.models.redirect_urls
from apps.core.db.migration_operations import CreateModels


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        CreateModels(
            migrations.CreateModel(
                name="AccessToken",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("digest", models.CharField(editable=False, max_length=64, unique=True)),
                    ("prefix", models.CharField(editable=False, max_length=12)),
                    ("created_by", models.CharField(blank=True, editable=False, max_length=100)),
                    ("last_used_at", models.DateTimeField(editable=False, null=True, verbose_name="last used at")),
                    ("expires_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    ("revoked_at", models.DateTimeField(editable=False, null=True)),
                ],
                options={
                    "verbose_name": "access token",
                    "verbose_name_plural": "access tokens",
                    "ordering": ("-id",),
                },
            ),
            migrations.CreateModel(
                name="App",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("name", models.CharField(max_length=255, verbose_name="name")),
                    ("api_key", models.CharField(editable=False, max_length=32, unique=True)),
                    ("api_secret", apps.core.db.encrypted_fields.SecretField(editable=False)),
                    (
                        "distribution",
                        models.CharField(
                            choices=[
                                ("custom", "Custom: for selected shops"),
                                ("private", "Private: developed by the shop itself"),
                                ("public", "Public: from the app marketplace"),
                            ],
                            default="custom",
                            max_length=20,
                            verbose_name="distribution",
                        ),
                    ),
                    ("application_url", models.URLField(blank=True, max_length=2048, verbose_name="app URL")),
                    (
                        "redirect_urls",
                        models.JSONField(
                            blank=True,
                            default=list,
                            validators=[apps.core.tenancy.models.redirect_urls.check_redirect_urls],
                            verbose_name="redirect URLs",
                        ),
                    ),
                    ("scopes", models.JSONField(blank=True, default=list, null=True, verbose_name="scopes")),
                    ("retired_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ],
                options={
                    "verbose_name": "app",
                    "verbose_name_plural": "apps",
                    "ordering": ("name", "id"),
                },
            ),
            migrations.CreateModel(
                name="AppPurchase",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("name", models.CharField(max_length=255, verbose_name="name")),
                    ("price", models.DecimalField(decimal_places=3, max_digits=15, verbose_name="price")),
                    ("currency", models.CharField(max_length=3, verbose_name="currency")),
                    (
                        "status",
                        models.CharField(
                            choices=[
                                ("pending", "Waiting for approval"),
                                ("active", "Approved"),
                                ("declined", "Declined"),
                                ("expired", "Expired"),
                            ],
                            default="pending",
                            editable=False,
                            max_length=8,
                        ),
                    ),
                    ("test", models.BooleanField(default=False)),
                    ("decided_at", models.DateTimeField(editable=False, null=True)),
                ],
                options={
                    "verbose_name": "app purchase",
                    "verbose_name_plural": "app purchases",
                    "ordering": ("-id",),
                },
            ),
            migrations.CreateModel(
                name="AuthorizationCode",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("digest", models.CharField(editable=False, max_length=64, unique=True)),
                    ("redirect_uri", models.CharField(max_length=2048, verbose_name="redirect URI")),
                    ("scopes", models.JSONField(default=list, verbose_name="scopes")),
                    ("per_user", models.BooleanField(default=False)),
                    ("expires_at", models.DateTimeField()),
                ],
                options={
                    "verbose_name": "authorization code",
                    "verbose_name_plural": "authorization codes",
                    "ordering": ("id",),
                },
            ),
            migrations.CreateModel(
                name="Installation",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("scopes", models.JSONField(default=list, verbose_name="scopes")),
                    ("uninstalled_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    ("version", apps.core.models.VersionField(default=apps.core.models.create_version, editable=False)),
                ],
                options={
                    "verbose_name": "app",
                    "ordering": ("app__name", "id"),
                },
            ),
            migrations.CreateModel(
                name="RetiringSecret",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("secret", apps.core.db.encrypted_fields.SecretField(editable=False)),
                    ("until", models.DateTimeField()),
                ],
                options={
                    "verbose_name": "retiring secret",
                    "verbose_name_plural": "retiring secrets",
                    "db_table": "webhooks_retiringsecret",
                    "ordering": ("until", "id"),
                },
            ),
            migrations.CreateModel(
                name="Shop",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    (
                        "handle",
                        models.SlugField(
                            help_text="The part of the panel URL that identifies the shop.",
                            max_length=63,
                            unique=True,
                            verbose_name="handle",
                        ),
                    ),
                    (
                        "domain",
                        models.CharField(
                            max_length=255,
                            unique=True,
                            validators=[
                                django.core.validators.RegexValidator(
                                    "\\A(?!-)[a-z0-9-]{1,63}(\\.(?!-)[a-z0-9-]{1,63})*\\Z",
                                    "Enter a domain such as shop.example, in lower case.",
                                )
                            ],
                            verbose_name="domain",
                        ),
                    ),
                    ("name", models.CharField(max_length=255, verbose_name="name")),
                    ("email", models.EmailField(max_length=255, verbose_name="email")),
                    (
                        "customer_email",
                        models.EmailField(
                            blank=True,
                            help_text="Customers see this email address instead of the shop's email address.",
                            max_length=255,
                            verbose_name="customer email",
                        ),
                    ),
                    ("owner_name", models.CharField(blank=True, max_length=255, verbose_name="owner")),
                    ("phone", models.CharField(blank=True, max_length=50, verbose_name="phone")),
                    ("address1", models.CharField(blank=True, max_length=255, verbose_name="address")),
                    ("address2", models.CharField(blank=True, max_length=255, verbose_name="apartment, suite, etc.")),
                    ("city", models.CharField(blank=True, max_length=255, verbose_name="city")),
                    ("zip", models.CharField(blank=True, max_length=50, verbose_name="postal code")),
                    ("province", models.CharField(blank=True, max_length=255, verbose_name="state or province")),
                    (
                        "province_code",
                        models.CharField(blank=True, max_length=10, verbose_name="state or province code"),
                    ),
                    ("country_code", models.CharField(default="US", max_length=2, verbose_name="country")),
                    ("latitude", models.FloatField(default=0.0)),
                    ("longitude", models.FloatField(default=0.0)),
                    ("currency", models.CharField(default="USD", max_length=3, verbose_name="currency")),
                    (
                        "presentment_currencies",
                        models.JSONField(blank=True, default=list, verbose_name="presentment currencies"),
                    ),
                    ("timezone", models.CharField(default="UTC", max_length=64, verbose_name="time zone")),
                    ("primary_locale", models.CharField(default="en", max_length=10, verbose_name="language")),
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
                        "plan",
                        models.CharField(
                            choices=[
                                ("development", "Development"),
                                ("trial", "Trial"),
                                ("basic", "Basic"),
                                ("premium", "Premium"),
                            ],
                            default="basic",
                            max_length=20,
                            verbose_name="plan",
                        ),
                    ),
                    (
                        "customer_accounts",
                        models.CharField(
                            choices=[
                                ("disabled", "Disabled: everyone checks out as a guest"),
                                ("optional", "Optional: customers can log in"),
                                ("required", "Required: customers must log in"),
                            ],
                            default="optional",
                            max_length=20,
                            verbose_name="customer accounts",
                        ),
                    ),
                    ("taxes_included", models.BooleanField(default=False, verbose_name="prices include tax")),
                    (
                        "low_stock_at",
                        models.PositiveSmallIntegerField(
                            blank=True,
                            help_text="Items with this quantity or less at a location are listed as low stock. Leave blank to list no items.",
                            null=True,
                            validators=[django.core.validators.MaxValueValidator(30000)],
                            verbose_name="low-stock threshold",
                        ),
                    ),
                    (
                        "two_factor_from",
                        models.DateField(
                            blank=True,
                            help_text="From this date, staff must use two-factor authentication to access this shop. Until then, they see a reminder.",
                            null=True,
                            verbose_name="require two-factor authentication from",
                        ),
                    ),
                    ("primary_location_id", models.BigIntegerField(blank=True, editable=False, null=True)),
                    ("listening_version", models.BigIntegerField(db_default=0, default=0, editable=False)),
                    ("read_only_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    (
                        "copied_from",
                        models.CharField(blank=True, db_default="", default="", editable=False, max_length=255),
                    ),
                    ("version", apps.core.models.VersionField(default=apps.core.models.create_version, editable=False)),
                ],
                options={
                    "verbose_name": "shop",
                    "verbose_name_plural": "shops",
                    "ordering": ("name", "id"),
                },
            ),
        ),
    ]
