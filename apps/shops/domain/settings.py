"""Change the shop's currency, and tell other apps of changed settings."""

from collections.abc import Callable, Iterable

from django.db.models import F, Model, QuerySet
from django.db.models.functions import Round
from django.utils.translation import gettext as _

from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import NOT_IN_LIST
from apps.core.i18n.messages import translate
from apps.core.money import get_decimal_places, is_currency
from apps.core.registry import Registry
from apps.core.tenancy.models import Shop

# A function that is called in the shop scope with the actor who changed the setting.
SettingCallback = Callable[[str], None]

# Callbacks by the name of the field of ``Shop`` that they watch.
setting_callbacks = Registry[str, SettingCallback]("setting callbacks")


def run_setting_callbacks(names: Iterable[str], *, actor: str) -> None:
    """Run the callbacks that are registered for the changed settings."""
    for name in names:
        if name in setting_callbacks:
            setting_callbacks[name](actor)


# A function that returns the reason why a shop cannot change to a currency, or None. It is called in the
# shop's scope and in the transaction of the change, and must lock the rows that it reads.
Objection = Callable[[Shop, str], str | None]

currency_objections = Registry[str, Objection]("currency objections")


class CurrencyChangeRefused(DomainError):
    """Raised when the shop cannot change to the currency."""

    code = "currency_refused"
    field = "currency"


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
    reasons = [reason for objection in currency_objections.values() if (reason := objection(shop, currency))]
    if reasons:
        raise CurrencyChangeRefused(
            _("cannot change from {present} to {wanted}: {reasons}").format(
                present=current, wanted=currency, reasons="; ".join(map(translate, reasons))
            )
        )
