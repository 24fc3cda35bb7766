"""Folds the texts and tags that were written before; by batches, each in a transaction of its own."""

from django.db import migrations

from apps.ground.folding import fill_copies, folded


def fold(apps, schema_editor):
    for name in ("Collection", "Product", "Variant"):
        fill_copies(apps.get_model("catalog", name))
    tags = apps.get_model("catalog", "ProductTag").objects
    for pk, product_id, name, key in tags.values_list("pk", "product_id", "name", "key").iterator(chunk_size=5_000):
        wanted = folded(name)
        # Two tags of a product that are equal now stay as they are: each search finds one of them.
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
