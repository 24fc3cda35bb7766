"""Which shops somebody may enter, and from when only with a second factor."""

from datetime import date

from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.db.models import QuerySet

from apps.ground.tenancy import every_shop
from apps.shops.models import Shop
from apps.staff.models import Membership, User


def shops_of(user: User) -> QuerySet[Shop]:
    """The shops that a user may enter; for operators all of them."""
    shops: QuerySet[Shop] = Shop.objects.all()
    if user.is_superuser:
        return shops
    with every_shop():
        places = Membership.objects.filter(user=user).values("shop_id")
    return shops.filter(pk__in=places)


def two_factor_day(shop: Shop | None) -> date | None:
    """The day from which a second factor is required: the installation's or the shop's, whichever is sooner."""
    days = (settings.TWO_FACTOR_FROM, shop.two_factor_from if shop else None)
    return min((day for day in days if day), default=None)


def two_factor_still_due(user: User, shop: Shop | None) -> date | None:
    """The day from which this person cannot go on without a second factor; None where they have one or need none.

    Whether the day has come, the caller asks in the shop's time zone.
    """
    day = two_factor_day(shop)
    return day if day and not is_mfa_enabled(user) else None
