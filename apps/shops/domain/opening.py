"""Opening shops; ``create_shop`` also makes what each domain registered with ``starter``."""

import zoneinfo
from collections.abc import Callable, Container, Iterable
from datetime import datetime

import pycountry
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.text import slugify

from apps.ground.errors import DomainError
from apps.ground.money import currencies
from apps.ground.phrases import TAKEN
from apps.ground.tenancy import shop_scope
from apps.shops.domain.records import record
from apps.shops.models import Shop

Starter = Callable[[Shop, datetime], None]

_starters: dict[str, Starter] = {}


class DomainTaken(DomainError):
    """Another shop has the domain."""

    code = "domain_taken"
    field = "domain"


def starter(name: str, make: Starter) -> None:
    """Register what a new shop starts with; called in the shop's scope, in the order of registration."""
    _starters[name] = make


@transaction.atomic
def create_shop(*, domain: str, name: str, email: str, actor: str, at: datetime, **settings: object) -> Shop:
    """Open a shop with everything that a shop starts with.

    Args:
        domain: Its domain, e.g. ``shop.example``; unique.
        name: What people call it.
        email: Where the owner is reached.
        actor: Who opens it.
        at: When.
        settings: Further fields of ``Shop``.

    Raises:
        DomainTaken: Another shop has the domain.
        ValidationError: A value does not fit its field.
    """
    if Shop.objects.filter(domain=domain).exists():
        raise DomainTaken(TAKEN)
    shop = Shop(domain=domain, name=name, email=email, handle=_free_handle(domain), created_at=at, **settings)
    shop.full_clean()
    _check_codes(shop)
    shop.save()
    with shop_scope(shop):
        for make in _starters.values():
            make(shop, at)
        record("shop/create", shop, actor=actor, at=at)
    shop.refresh_from_db()
    return shop


def _check_codes(shop: Shop) -> None:
    """Standard codes must exist: a shop in an unknown time zone, for one, could not be shown at all."""
    standards: dict[str, tuple[str, Container[str]]] = {
        "timezone": ("IANA time zone", zoneinfo.available_timezones()),
        "currency": ("currency that prices can be kept in", currencies()),
        "country_code": ("ISO 3166 country", {country.alpha_2 for country in pycountry.countries}),
    }
    given = {name: getattr(shop, name) for name in standards}
    if wrong := {
        name: f"{given[name]} is no {kind}." for name, (kind, codes) in standards.items() if given[name] not in codes
    }:
        raise ValidationError(wrong)


def _free_handle(domain: str) -> str:
    """The domain's first label, numbered where another shop has it."""
    base = slugify(domain.split(".", maxsplit=1)[0])[:50] or "shop"
    taken = set(Shop.objects.filter(handle__startswith=base).values_list("handle", flat=True))
    return next(handle for handle in _numbered(base) if handle not in taken)


def _numbered(base: str) -> Iterable[str]:
    yield base
    number = 1
    while True:
        yield f"{base}-{number}"
        number += 1
