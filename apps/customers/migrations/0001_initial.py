import datetime
from decimal import Decimal

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import apps.core.models
from apps.core.db.migration_operations import AddPostgresIndex, CreateModels, EnsureTrigramExtension


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("shops", "0001_initial"),
    ]

    operations = [
        CreateModels(
            migrations.CreateModel(
                name="Address",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("first_name", models.CharField(blank=True, max_length=255, null=True, verbose_name="first name")),
                    ("last_name", models.CharField(blank=True, max_length=255, null=True, verbose_name="last name")),
                    ("company", models.CharField(blank=True, max_length=255, null=True, verbose_name="company")),
                    ("address1", models.CharField(blank=True, max_length=255, null=True, verbose_name="address")),
                    (
                        "address2",
                        models.CharField(blank=True, max_length=255, null=True, verbose_name="apartment, suite, etc."),
                    ),
                    ("city", models.CharField(blank=True, max_length=255, null=True, verbose_name="city")),
                    ("province", models.CharField(blank=True, max_length=255, verbose_name="state or province")),
                    ("province_code", models.CharField(blank=True, max_length=10)),
                    ("country", models.CharField(blank=True, max_length=255)),
                    ("country_code", models.CharField(blank=True, help_text="ISO 3166-1 alpha-2.", max_length=2)),
                    ("zip", models.CharField(blank=True, max_length=255, null=True, verbose_name="postal code")),
                    ("phone", models.CharField(blank=True, max_length=255, null=True, verbose_name="phone")),
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
                        "customer",
                        models.ForeignKey(
                            db_index=False,
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="addresses",
                            to="customers.customer",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "address",
                    "verbose_name_plural": "addresses",
                    "ordering": ("id",),
                    "indexes": [
                        models.Index(fields=["customer", "-updated_at", "-id"], name="customers_address_recent"),
                        models.Index(fields=["shop", "country_code", "customer"], name="customers_address_by_country"),
                    ],
                },
            ),
            migrations.CreateModel(
                name="Customer",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("first_name", models.CharField(blank=True, max_length=255, verbose_name="first name")),
                    ("last_name", models.CharField(blank=True, max_length=255, verbose_name="last name")),
                    ("email", models.EmailField(blank=True, max_length=255, verbose_name="email")),
                    ("email_key", models.CharField(blank=True, editable=False, max_length=320)),
                    (
                        "phone",
                        models.CharField(
                            blank=True,
                            help_text="Include the country code, e.g. +46 8 123 456 78.",
                            max_length=20,
                            verbose_name="phone",
                        ),
                    ),
                    ("verified_email", models.BooleanField(default=False, verbose_name="verified email")),
                    (
                        "state",
                        models.CharField(
                            choices=[
                                ("disabled", "No account"),
                                ("invited", "Invited"),
                                ("enabled", "Active account"),
                                ("declined", "Declined"),
                            ],
                            default="disabled",
                            editable=False,
                            max_length=10,
                            verbose_name="state",
                        ),
                    ),
                    ("note", models.TextField(blank=True, max_length=5000, verbose_name="note")),
                    ("tags", models.TextField(blank=True, verbose_name="tags")),
                    ("tax_exempt", models.BooleanField(default=False, verbose_name="tax exempt")),
                    ("tax_exemptions", models.JSONField(blank=True, default=list)),
                    ("multipass_identifier", models.CharField(blank=True, max_length=255)),
                    ("search_text", models.TextField(blank=True, editable=False)),
                    ("search_own", models.TextField(blank=True, default="", editable=False)),
                    ("search_places", models.TextField(blank=True, default="", editable=False)),
                    ("orders_count", models.PositiveIntegerField(default=0, editable=False, verbose_name="orders")),
                    (
                        "total_spent",
                        models.DecimalField(decimal_places=3, default=Decimal(0), editable=False, max_digits=20),
                    ),
                    ("last_order_id", models.BigIntegerField(blank=True, editable=False, null=True)),
                    ("last_order_name", models.CharField(blank=True, editable=False, max_length=255)),
                    (
                        "last_order_at",
                        models.DateTimeField(
                            default=datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.UTC), editable=False
                        ),
                    ),
                    ("last_order_currency", models.CharField(blank=True, editable=False, max_length=3)),
                    (
                        "email_marketing_state",
                        models.CharField(
                            choices=[
                                ("not_subscribed", "Not subscribed"),
                                ("pending", "Waiting for confirmation"),
                                ("subscribed", "Subscribed"),
                                ("unsubscribed", "Unsubscribed"),
                                ("redacted", "Erased"),
                                ("invalid", "Not reachable"),
                            ],
                            default="not_subscribed",
                            editable=False,
                            max_length=20,
                            verbose_name="email marketing state",
                        ),
                    ),
                    (
                        "email_marketing_opt_in_level",
                        models.CharField(
                            blank=True,
                            choices=[
                                ("single_opt_in", "Single opt-in"),
                                ("confirmed_opt_in", "Confirmed opt-in"),
                                ("unknown", "Unknown"),
                            ],
                            default="single_opt_in",
                            editable=False,
                            max_length=20,
                        ),
                    ),
                    ("email_marketing_updated_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    (
                        "sms_marketing_state",
                        models.CharField(
                            choices=[
                                ("not_subscribed", "Not subscribed"),
                                ("pending", "Waiting for confirmation"),
                                ("subscribed", "Subscribed"),
                                ("unsubscribed", "Unsubscribed"),
                                ("redacted", "Erased"),
                                ("invalid", "Not reachable"),
                            ],
                            default="not_subscribed",
                            editable=False,
                            max_length=20,
                        ),
                    ),
                    (
                        "sms_marketing_opt_in_level",
                        models.CharField(
                            choices=[
                                ("single_opt_in", "Single opt-in"),
                                ("confirmed_opt_in", "Confirmed opt-in"),
                                ("unknown", "Unknown"),
                            ],
                            default="single_opt_in",
                            editable=False,
                            max_length=20,
                        ),
                    ),
                    ("sms_marketing_updated_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    ("sms_marketing_collected_from", models.CharField(default="OTHER", editable=False, max_length=50)),
                    ("password", models.CharField(blank=True, editable=False, max_length=128)),
                    ("activation_nonce", models.CharField(blank=True, editable=False, max_length=43)),
                    ("activation_expires_at", models.DateTimeField(editable=False, null=True)),
                    ("redacted_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    ("erasing_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    ("version", apps.core.models.VersionField(default=apps.core.models.create_version, editable=False)),
                    (
                        "default_address",
                        models.ForeignKey(
                            blank=True,
                            editable=False,
                            null=True,
                            on_delete=django.db.models.deletion.SET_NULL,
                            related_name="+",
                            to="customers.address",
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
                    "verbose_name": "customer",
                    "verbose_name_plural": "customers",
                    "ordering": ("-id",),
                    "indexes": [
                        models.Index(fields=["shop", "id"], name="customers_customer_by_shop"),
                        models.Index(fields=["shop", "created_at", "id"], name="customers_customer_by_creation"),
                        models.Index(fields=["shop", "state", "id"], name="customers_customer_by_state"),
                        models.Index(
                            condition=models.Q(("tax_exempt", True)),
                            fields=["shop", "id"],
                            name="customers_customer_tax_exempt",
                        ),
                    ],
                    "constraints": [
                        models.UniqueConstraint(
                            condition=models.Q(("email_key", ""), _negated=True),
                            fields=("shop", "email_key"),
                            name="customers_customer_email_is_unique",
                            violation_error_code="email",
                            violation_error_message="has already been taken",
                        ),
                        models.UniqueConstraint(
                            condition=models.Q(("phone", ""), _negated=True),
                            fields=("shop", "phone"),
                            name="customers_customer_phone_is_unique",
                            violation_error_message="has already been taken",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(
                                models.Q(("email", ""), ("email_key", "")),
                                models.Q(
                                    models.Q(("email", ""), _negated=True), models.Q(("email_key", ""), _negated=True)
                                ),
                                _connector="OR",
                            ),
                            name="customers_customer_email_has_its_key",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="ConsentChange",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    (
                        "channel",
                        models.CharField(
                            choices=[("email", "Email"), ("sms", "SMS")], max_length=5, verbose_name="channel"
                        ),
                    ),
                    (
                        "state",
                        models.CharField(
                            choices=[
                                ("not_subscribed", "Not subscribed"),
                                ("pending", "Waiting for confirmation"),
                                ("subscribed", "Subscribed"),
                                ("unsubscribed", "Unsubscribed"),
                                ("redacted", "Erased"),
                                ("invalid", "Not reachable"),
                            ],
                            max_length=20,
                            verbose_name="state",
                        ),
                    ),
                    (
                        "opt_in_level",
                        models.CharField(
                            blank=True,
                            choices=[
                                ("single_opt_in", "Single opt-in"),
                                ("confirmed_opt_in", "Confirmed opt-in"),
                                ("unknown", "Unknown"),
                            ],
                            max_length=20,
                            verbose_name="opt-in level",
                        ),
                    ),
                    ("collected_from", models.CharField(blank=True, max_length=50, verbose_name="collected from")),
                    ("consent_updated_at", models.DateTimeField(null=True, verbose_name="consent updated at")),
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
                        "customer",
                        models.ForeignKey(
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="consent_changes",
                            to="customers.customer",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "consent change",
                    "verbose_name_plural": "consent changes",
                    "ordering": ("-id",),
                },
            ),
            migrations.CreateModel(
                name="Invitation",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("to_address", models.CharField(max_length=255)),
                    ("from_address", models.CharField(max_length=255)),
                    ("subject", models.CharField(max_length=255)),
                    ("custom_message", models.TextField(blank=True, max_length=5000)),
                    ("bcc", models.JSONField(default=list)),
                    ("nonce", models.CharField(editable=False, max_length=43)),
                    ("sent_at", models.DateTimeField(editable=False, null=True)),
                    (
                        "customer",
                        models.ForeignKey(
                            editable=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="invitations",
                            to="customers.customer",
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
                    "verbose_name": "invitation",
                    "verbose_name_plural": "invitations",
                    "ordering": ("-id",),
                },
            ),
            migrations.CreateModel(
                name="CustomerProfile",
                fields=[
                    (
                        "of",
                        models.OneToOneField(
                            db_column="id",
                            db_constraint=False,
                            editable=False,
                            on_delete=django.db.models.deletion.DO_NOTHING,
                            primary_key=True,
                            related_name="profile",
                            serialize=False,
                            to="customers.customer",
                        ),
                    ),
                    ("first_name", models.CharField(max_length=255)),
                    ("last_name", models.CharField(max_length=255)),
                    ("email_key", models.CharField(max_length=320)),
                    ("email_marketing_state", models.CharField(max_length=20)),
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
                        models.Index(fields=["shop", "last_name", "of"], name="customers_profile_by_name"),
                        models.Index(fields=["shop", "first_name", "of"], name="customers_profile_by_first"),
                        models.Index(fields=["shop", "email_key", "of"], name="customers_profile_by_email"),
                        models.Index(
                            fields=["shop", "email_marketing_state", "of"], name="customers_profile_by_consent"
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="CustomerRank",
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
                            to="customers.customer",
                        ),
                    ),
                    ("updated_at", models.DateTimeField()),
                    ("last_order_at", models.DateTimeField()),
                    ("orders_count", models.PositiveIntegerField()),
                    ("total_spent", models.DecimalField(decimal_places=3, max_digits=20)),
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
                        models.Index(fields=["shop", "updated_at", "of"], name="customers_rank_by_update"),
                        models.Index(fields=["shop", "last_order_at", "of"], name="customers_rank_by_last_order"),
                        models.Index(fields=["shop", "orders_count", "of"], name="customers_rank_by_orders"),
                        models.Index(fields=["shop", "total_spent", "of"], name="customers_rank_by_spending"),
                    ],
                },
            ),
            migrations.CreateModel(
                name="CustomerWords",
                fields=[
                    (
                        "of",
                        models.OneToOneField(
                            db_column="id",
                            db_constraint=False,
                            editable=False,
                            on_delete=django.db.models.deletion.DO_NOTHING,
                            primary_key=True,
                            related_name="words",
                            serialize=False,
                            to="customers.customer",
                        ),
                    ),
                    ("search_text", models.TextField()),
                    ("search_own", models.TextField()),
                    ("search_places", models.TextField()),
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
                    "abstract": False,
                },
            ),
        ),
        EnsureTrigramExtension(),
        AddPostgresIndex(
            "customerwords",
            "customers_words_search",
            "USING gin (search_text gin_trgm_ops, search_own gin_trgm_ops, search_places gin_trgm_ops)",
        ),
    ]
