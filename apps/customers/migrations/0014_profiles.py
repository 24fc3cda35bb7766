import django.db.models.deletion
from django.db import migrations, models

from apps.ground.sort_tables import DropSortTriggers


class Migration(migrations.Migration):
    dependencies = [
        ("customers", "0013_words_and_their_index"),
    ]

    operations = [
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
                ("first_name", models.CharField(max_length=255)),
                ("last_name", models.CharField(max_length=255)),
                ("email_key", models.CharField(max_length=320)),
                ("email_marketing_state", models.CharField(max_length=20)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["shop", "last_name", "of"], name="customers_profile_by_name"),
                    models.Index(fields=["shop", "first_name", "of"], name="customers_profile_by_first"),
                    models.Index(fields=["shop", "email_key", "of"], name="customers_profile_by_email"),
                    models.Index(fields=["shop", "email_marketing_state", "of"], name="customers_profile_by_consent"),
                ],
            },
        ),
        DropSortTriggers("CustomerProfile"),
    ]
