"""Create shops. The registered ``shop_initializers`` create the initial rows."""

import zoneinfo
from collections.abc import Callable, Container
from datetime import datetime
from itertools import chain, count

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.text import slugify

from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import TAKEN
from apps.core.money import get_currencies
from apps.core.registry import Registry
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.shops.domain.countries import get_countries

ShopInitializer = Callable[[Shop, datetime], None]

# Callbacks that create a new shop's initial rows. They are called in the shop scope, in the order of registration.
shop_initializers = Registry[str, ShopInitializer]("shop initializers")


@transaction.atomic
def create_shop(*, domain: str, name: str, email: str, actor: str, at: datetime, **settings: object) -> Shop:
    """Create a shop with its initial rows. ``settings`` are additional fields of ``Shop``.

    Raises:
        DomainError: Another shop has the domain.
        ValidationError: A value is invalid.
    """
    if Shop.objects.filter(domain=domain).exists():
        raise DomainError(TAKEN, field="domain")
    shop = Shop(domain=domain, name=name, email=email, handle=_find_free_handle(domain), created_at=at, **settings)
    check_shop(shop)
    shop.save()
    with shop_scope(shop):
        for initializer in shop_initializers.values():
            initializer(shop, at)
        record_event("shop/create", shop, actor=actor, at=at)
    shop.refresh_from_db()
    return shop


def check_shop(shop: Shop) -> None:
    """Check all columns, also that the time zone, currency and country are known, because others would break pages.

    Raises:
        ValidationError: A value is invalid.
    """
    shop.full_clean()
    standards: dict[str, tuple[str, Container[str]]] = {
        "timezone": ("an IANA time zone", zoneinfo.available_timezones()),
        "currency": ("a supported currency", get_currencies()),
        "country_code": ("a country code", {country.code for country in get_countries()}),
    }
    values = {name: getattr(shop, name) for name in standards}
    if errors := {
        name: f"{values[name]} is not {kind}." for name, (kind, codes) in standards.items() if values[name] not in codes
    }:
        raise ValidationError(errors)


def _find_free_handle(domain: str) -> str:
    """Return the first label of the domain. Append a number if another shop already has this handle."""
    base = slugify(domain.split(".", maxsplit=1)[0])[:50] or "shop"
    existing_handles = set(Shop.objects.filter(handle__startswith=base).values_list("handle", flat=True))
    handles = chain([base], (f"{base}-{number}" for number in count(1)))
    return next(handle for handle in handles if handle not in existing_handles)
