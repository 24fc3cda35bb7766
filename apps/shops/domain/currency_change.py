"""Check changes of the shop currency.

Amounts are stored in the shop currency and never converted. Django apps that store amounts register objections. The
shop currency is therefore locked as soon as the shop has amounts.
"""

from collections.abc import Callable

from django.db.models import F, Model, QuerySet
from django.db.models.functions import Round
from django.utils.translation import gettext as _

from apps.ground.error_messages import NOT_IN_LIST
from apps.ground.exceptions import DomainError
from apps.ground.money import get_decimal_places, is_currency
from apps.ground.stored_messages import translate_stored
from apps.shops.models import Shop

# A function that returns the reason why a shop cannot change to a currency, or None. The function must lock the rows
# that it reads.
Objection = Callable[[Shop, str], str | None]

_objections: list[Objection] = []


class CurrencyChangeRefused(DomainError):
    """Raised when the shop cannot change to the currency."""

    code = "currency_refused"
    field = "currency"


def register_currency_objection(objection: Objection) -> None:
    """Register a function that can object to a currency change.

    It is called in the shop's scope and in the transaction of the change.
    """
    _objections.append(objection)


def has_finer_amounts(rows: QuerySet[Model], column: str, currency: str) -> bool:
    """Return True if a column contains amounts with more decimals than the currency has."""
    rounded_rows = rows.annotate(shown=Round(column, precision=get_decimal_places(currency)))
    return rounded_rows.filter(**{f"{column}__isnull": False}).exclude(**{column: F("shown")}).exists()


def check_currency_change(shop: Shop, currency: str) -> None:
    """Check that a shop may change to a currency. The current currency is always allowed.

    Raises:
        CurrencyChangeRefused: The currency is unknown, or the shop already has amounts.
    """
    current = Shop.objects.values_list("currency", flat=True).get(pk=shop.pk)
    if currency == current:
        return
    if not is_currency(currency):
        raise CurrencyChangeRefused(NOT_IN_LIST)
    reasons = [reason for objection in _objections if (reason := objection(shop, currency))]
    if reasons:
        raise CurrencyChangeRefused(
            _("cannot change from {present} to {wanted}: {reasons}").format(
                present=current, wanted=currency, reasons="; ".join(map(translate_stored, reasons))
            )
        )
