from django.db import migrations, models
from django.db.models.functions import Left, Upper

from apps.ground.migration_operations import AddIndexWithoutBlocking


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("metafields", "0003_ids_are_unique"),
    ]

    operations = [
        AddIndexWithoutBlocking(
            model_name="metafield",
            index=models.Index(
                models.F("shop"),
                models.F("owner_resource"),
                Upper(Left("value", 100)),
                name="metafields_metafield_by_value",
            ),
        ),
    ]
