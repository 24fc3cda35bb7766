"""Convert presentment currencies to rows with a rate and a rounding rule; existing currencies get no rate."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def _add_rates(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    shops = apps.get_model("shops", "Shop")._default_manager.using(editor.connection.alias)
    for shop in shops.exclude(presentment_currencies=[]):
        codes = [code for code in shop.presentment_currencies if code != shop.currency]
        rows = [{"currency": code, "rate": None, "rounding": ""} for code in codes]
        shops.filter(pk=shop.pk).update(presentment_currencies=rows)


def _drop_rates(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    shops = apps.get_model("shops", "Shop")._default_manager.using(editor.connection.alias)
    for shop in shops.exclude(presentment_currencies=[]):
        codes = [row["currency"] for row in shop.presentment_currencies]
        shops.filter(pk=shop.pk).update(presentment_currencies=codes)


class Migration(migrations.Migration):
    """A migration that changes only data."""

    dependencies = [("shops", "0003_two_factor_policy")]

    operations = [migrations.RunPython(_add_rates, _drop_rates)]
