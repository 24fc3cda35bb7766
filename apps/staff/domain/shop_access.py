"""Users' access to shops, and deadlines for second factors."""

from datetime import date

from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.db.models import QuerySet

from apps.ground.tenancy import all_shops_scope
from apps.shops.models import Shop
from apps.staff.models import Membership, User


def get_accessible_shops(user: User) -> QuerySet[Shop]:
    """Return the shops that a user may open. Operators may open all shops."""
    shops: QuerySet[Shop] = Shop.objects.all()
    if user.is_superuser:
        return shops
    with all_shops_scope():
        shop_ids = Membership.objects.filter(user=user).values("shop_id")
    return shops.filter(pk__in=shop_ids)


def get_two_factor_day(shop: Shop | None) -> date | None:
    """Return the first day on which the installation or the shop requires a second factor, or None."""
    days = (settings.REQUIRE_TWO_FACTOR_FROM, shop.two_factor_from if shop else None)
    return min((day for day in days if day), default=None)


def get_two_factor_deadline(user: User, shop: Shop | None) -> date | None:
    """Return the first day on which the user must have a second factor.

    Return None if the user already has a second factor or does not need one. The caller must compare the day with the
    current date in the shop's time zone.
    """
    day = get_two_factor_day(shop)
    return day if day and not is_mfa_enabled(user) else None
