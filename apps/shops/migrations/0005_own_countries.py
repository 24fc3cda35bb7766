from typing import Any

from django.db import migrations

from apps.shops.domain.countries import find_country
from apps.shops.domain.shop_countries import build_provinces, get_tax_name


def add_own_countries(apps: Any, schema_editor: Any) -> None:
    """Add the country of each shop with its provinces, as new shops have it."""
    country_model, province_model = (apps.get_model("shops", name) for name in ("ShopCountry", "ShopProvince"))
    shops = apps.get_model("shops", "Shop").objects.order_by("pk").values_list("pk", "country_code")
    for shop_id, code in shops.iterator():
        if find_country(code) is None or country_model.objects.filter(shop_id=shop_id).exists():
            continue
        country = country_model.objects.create(shop_id=shop_id, code=code, tax_name=get_tax_name(code))
        provinces = build_provinces(province_model, code, shop_id=shop_id, country=country)
        province_model.objects.bulk_create(provinces)


class Migration(migrations.Migration):
    dependencies = [("shops", "0004_countries")]

    operations = [migrations.RunPython(add_own_countries, migrations.RunPython.noop, elidable=True)]
