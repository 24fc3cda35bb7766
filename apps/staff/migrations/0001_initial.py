import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import apps.core.tenancy.models.users
from apps.core.db.migration_operations import CreateModels


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("shops", "0001_initial"),
    ]

    operations = [
        CreateModels(
            migrations.CreateModel(
                name="User",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("password", models.CharField(max_length=128, verbose_name="password")),
                    ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                    (
                        "is_superuser",
                        models.BooleanField(
                            default=False,
                            help_text="Designates that this user has all permissions without explicitly assigning them.",
                            verbose_name="superuser status",
                        ),
                    ),
                    (
                        "email",
                        models.EmailField(
                            error_messages={"unique": "has already been taken"},
                            max_length=255,
                            unique=True,
                            verbose_name="email",
                        ),
                    ),
                    ("first_name", models.CharField(blank=True, max_length=150, verbose_name="first name")),
                    ("last_name", models.CharField(blank=True, max_length=150, verbose_name="last name")),
                    ("phone", models.CharField(blank=True, max_length=50)),
                    ("url", models.URLField(blank=True, max_length=2048)),
                    ("bio", models.TextField(blank=True)),
                    ("locale", models.CharField(default="en", max_length=10)),
                    ("language", models.CharField(blank=True, db_default="", default="", max_length=10)),
                    ("tour_ended_at", models.DateTimeField(blank=True, editable=False, null=True)),
                    ("is_active", models.BooleanField(default=True, verbose_name="active")),
                    ("date_joined", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    (
                        "groups",
                        models.ManyToManyField(
                            blank=True,
                            help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                            related_name="user_set",
                            related_query_name="user",
                            to="auth.group",
                            verbose_name="groups",
                        ),
                    ),
                    (
                        "last_shop",
                        models.ForeignKey(
                            blank=True,
                            editable=False,
                            null=True,
                            on_delete=django.db.models.deletion.SET_NULL,
                            related_name="+",
                            to="shops.shop",
                        ),
                    ),
                    (
                        "user_permissions",
                        models.ManyToManyField(
                            blank=True,
                            help_text="Specific permissions for this user.",
                            related_name="user_set",
                            related_query_name="user",
                            to="auth.permission",
                            verbose_name="user permissions",
                        ),
                    ),
                ],
                managers=[
                    ("objects", apps.core.tenancy.models.users.UserManager()),
                ],
            ),
            migrations.CreateModel(
                name="ListColumns",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("screen", models.CharField(help_text="The list's model, e.g. orders.order.", max_length=100)),
                    ("columns", models.CharField(max_length=1000)),
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
                        "user",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                        ),
                    ),
                ],
                options={
                    "verbose_name": "column settings",
                    "constraints": [
                        models.UniqueConstraint(fields=("shop", "user", "screen"), name="staff_listcolumns_once")
                    ],
                },
            ),
            migrations.CreateModel(
                name="Membership",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("account_owner", models.BooleanField(default=False, verbose_name="account owner")),
                    ("permissions", models.JSONField(blank=True, default=list, verbose_name="permissions")),
                    ("view_only", models.JSONField(blank=True, db_default=[], default=list, verbose_name="view only")),
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
                        "user",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="memberships",
                            to=settings.AUTH_USER_MODEL,
                            verbose_name="user",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "staff member",
                    "verbose_name_plural": "staff members",
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("shop", "user"),
                            name="staff_membership_once_per_shop",
                            violation_error_message="has already been taken",
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="SavedView",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ("updated_at", models.DateTimeField(auto_now=True)),
                    ("screen", models.CharField(help_text="The list's model, e.g. orders.order.", max_length=100)),
                    ("name", models.CharField(max_length=60)),
                    ("query", models.CharField(max_length=2000)),
                    (
                        "shared",
                        models.BooleanField(
                            default=False, help_text="Whether all staff who can view the list can use this view."
                        ),
                    ),
                    (
                        "is_default",
                        models.BooleanField(
                            default=False, help_text="Whether the list opens with this view for this user."
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
                        "user",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to=settings.AUTH_USER_MODEL,
                            verbose_name="user",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "view",
                    "ordering": ("name", "id"),
                    "indexes": [models.Index(fields=["shop", "screen"], name="staff_savedview_by_screen")],
                    "constraints": [
                        models.UniqueConstraint(
                            fields=("shop", "user", "screen", "name"), name="staff_savedview_name_once"
                        ),
                        models.UniqueConstraint(
                            condition=models.Q(("is_default", True)),
                            fields=("shop", "user", "screen"),
                            name="staff_savedview_one_default",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="SentForm",
                fields=[
                    ("key", models.CharField(max_length=64, primary_key=True, serialize=False)),
                    ("fingerprint", models.CharField(max_length=64)),
                    ("result", models.TextField(default="")),
                    ("shown", models.BooleanField(default=False)),
                    ("done", models.BooleanField(default=False)),
                    ("created_at", models.DateTimeField()),
                    (
                        "user",
                        models.ForeignKey(
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to=settings.AUTH_USER_MODEL,
                            verbose_name="user",
                        ),
                    ),
                ],
                options={
                    "verbose_name": "submitted form",
                    "verbose_name_plural": "submitted forms",
                    "indexes": [models.Index(fields=["created_at"], name="staff_sentform_age")],
                },
            ),
        ),
    ]
