"""The currency that a shop keeps its books in, and when it may still change.

Amounts are stored as numbers in the shop's currency. Once there is money in the books it stays what it is: nothing is
converted, and nothing is read in another currency. Each domain that keeps amounts says here what stands in the way.
"""

from collections.abc import Callable

from django.db.models import F, Model, QuerySet
from django.db.models.functions import Round
from django.utils.translation import gettext as _

from apps.ground.errors import DomainError
from apps.ground.money import is_currency, places_of
from apps.ground.phrases import NOT_IN_LIST
from apps.ground.retelling import retold
from apps.shops.models import Shop

# Says why a shop cannot change to a currency; None where nothing stands in the way. It holds what it looked at.
Objection = Callable[[Shop, str], str | None]

_objections: list[Objection] = []


class CurrencyRefused(DomainError):
    """The shop's books cannot be kept in the currency."""

    code = "currency_refused"
    field = "currency"


def on_currency_change(objection: Objection) -> None:
    """Register what may stand in the way; called in the shop's scope and in the transaction of the change."""
    _objections.append(objection)


def has_finer_amounts(rows: QuerySet[Model], column: str, currency: str) -> bool:
    """Whether a column of amounts has some with more decimals than a currency."""
    shown = rows.annotate(shown=Round(column, precision=places_of(currency)))
    return shown.filter(**{f"{column}__isnull": False}).exclude(**{column: F("shown")}).exists()


def check_currency(shop: Shop, currency: str) -> None:
    """Ask whether a shop may change to a currency; its present one always may stay.

    Raises:
        CurrencyRefused: It is none, or there are amounts that would change.
    """
    present = Shop.objects.values_list("currency", flat=True).get(pk=shop.pk)
    if currency == present:
        return
    if not is_currency(currency):
        raise CurrencyRefused(NOT_IN_LIST)
    reasons = [reason for objection in _objections if (reason := objection(shop, currency))]
    if reasons:
        raise CurrencyRefused(
            _("cannot change from {present} to {wanted}: {reasons}").format(
                present=present, wanted=currency, reasons="; ".join(map(retold, reasons))
            )
        )
