"""Fill the case-folded columns of existing rows in batches, each in its own transaction."""

from django.db import migrations

from apps.ground.case_folding import fill_folded_columns, casefold_text


def fold(apps, schema_editor):
    for name in ("Collection", "Product", "Variant"):
        fill_folded_columns(apps.get_model("catalog", name))
    tags = apps.get_model("catalog", "ProductTag").objects
    for pk, product_id, name, key in tags.values_list("pk", "product_id", "name", "key").iterator(chunk_size=5_000):
        wanted = casefold_text(name)
        # Keep tags of a product that are now equal: each search finds one of them.
        if wanted != key and not tags.filter(product_id=product_id, key=wanted).exists():
            tags.filter(pk=pk).update(key=wanted)


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ("catalog", "0006_folded_columns"),
    ]

    operations = [
        migrations.RunPython(fold, migrations.RunPython.noop),
    ]
