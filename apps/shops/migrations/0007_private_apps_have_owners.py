from django.db import migrations
from django.db.models import Count, Max


def own(apps, schema_editor):
    """Make each shop the owner of private apps that are installed only in this shop."""
    App = apps.get_model("shops", "App")
    private = App.objects.filter(distribution="private", owner=None)
    with_shop_counts = private.annotate(shops=Count("installations__shop", distinct=True), shop=Max("installations__shop"))
    for app in with_shop_counts.filter(shops=1).iterator():
        App.objects.filter(pk=app.pk, owner=None).update(owner_id=app.shop)


class Migration(migrations.Migration):

    dependencies = [
        ('shops', '0006_authorization_codes'),
    ]

    operations = [
        migrations.RunPython(own, migrations.RunPython.noop),
    ]
