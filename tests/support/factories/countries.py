from django.utils import timezone

from apps.core.tenancy.scope import get_current_shop
from apps.shops.domain import shop_countries
from apps.shops.models import ShopCountry, ShopProvince

# Countries with provinces.
_CODES = ("CA", "AU", "BR", "IN", "JP", "MX", "NZ", "AR", "CL", "CO", "EG", "ES", "IE", "IT", "MY", "PE")


def make_country() -> ShopCountry:
    """Add a country that the shop does not have yet."""
    known = set(ShopCountry.objects.values_list("code", flat=True))
    code = next(code for code in _CODES if code not in known)
    return shop_countries.create_country({"code": code}, actor="system", at=timezone.now())


def add_province(country_id: int, code: str) -> ShopProvince:
    """Add a province that does not exist, to test long lists."""
    return ShopProvince.objects.create(shop=get_current_shop(), country_id=country_id, code=code, name=code)
