import django.db.models.deletion
from django.db import migrations, models

from apps.ground.sort_tables import DropSortTriggers


class Migration(migrations.Migration):
    dependencies = [
        ("customers", "0011_ranks"),
    ]

    operations = [
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
        DropSortTriggers("CustomerWords"),
    ]
