from django.db import migrations, models
from django.db.models import Exists, F, OuterRef


def make_repeated_ids_texts(apps, schema_editor):
    """Change the type of metafields that repeat an older metafield's ID to text; their value stays."""
    Metafield = apps.get_model("metafields", "Metafield")
    ids = Metafield._base_manager.filter(type="id")
    older = ids.filter(
        shop_id=OuterRef("shop_id"),
        owner_resource=OuterRef("owner_resource"),
        namespace=OuterRef("namespace"),
        key=OuterRef("key"),
        value=OuterRef("value"),
        id__lt=OuterRef("id"),
    )
    repeated = list(ids.filter(Exists(older)).values_list("id", flat=True))
    for start in range(0, len(repeated), 500):
        Metafield._base_manager.filter(id__in=repeated[start : start + 500]).update(
            type="single_line_text_field", version=F("version") + 1
        )


class Migration(migrations.Migration):

    dependencies = [
        ('metafields', '0002_any_text_in_names'),
    ]

    operations = [
        migrations.RunPython(make_repeated_ids_texts, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name='metafield',
            constraint=models.UniqueConstraint(condition=models.Q(('type', 'id')), fields=('shop', 'owner_resource', 'namespace', 'key', 'value'), name='metafields_metafield_ids_are_unique', violation_error_code='value', violation_error_message='has already been taken'),
        ),
    ]
