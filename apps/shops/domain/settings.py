"""Change the settings of a shop, check its currency, and tell other apps of changed settings."""

from collections.abc import Callable, Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import F, Model, QuerySet
from django.db.models.functions import Round
from django.utils.translation import gettext as _

from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import apply_changes, record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import NOT_IN_LIST
from apps.core.i18n.messages import translate
from apps.core.money import get_decimal_places, is_currency
from apps.core.registry import Registry
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import ReadOnlyAttrs
from apps.shops.domain.shop_creation import check_shop

# Callbacks by the name of the field of ``Shop`` that they watch. They are called in the shop scope with the actor.
setting_callbacks = Registry[str, Callable[[str], None]]("setting callbacks")


def run_setting_callbacks(names: Iterable[str], *, actor: str) -> None:
    for name in names:
        if name in setting_callbacks:
            setting_callbacks[name](actor)


@transaction.atomic
def change_settings(values: ReadOnlyAttrs, *, actor: str, at: datetime) -> bool:
    """Save columns of the current shop, except for the currency. Return True if a value has changed.

    Raises:
        ValidationError: A value is invalid.
    """
    current = get_current_shop()
    shop = Shop.objects.get(pk=current.pk)
    refresh_for_update(shop)
    changes = apply_changes(shop, values)
    if not changes:
        return False
    check_shop(shop)
    shop.save(update_fields=[*changes, "version"])
    record_event("shop/update", shop, actor=actor, at=at, changes=changes)
    current.refresh_from_db()
    run_setting_callbacks(changes, actor=actor)
    return True


# Functions that return the reason why a shop cannot change to a currency, or None. They are called in the shop's scope
# and in the transaction of the change, and must lock the rows that they read.
currency_objections = Registry[str, Callable[[Shop, str], str | None]]("currency objections")


class CurrencyChangeRefused(DomainError):
    field = "currency"


def has_finer_amounts(rows: QuerySet[Model], column: str, currency: str) -> bool:
    rounded_rows = rows.annotate(shown=Round(column, precision=get_decimal_places(currency)))
    return rounded_rows.filter(**{f"{column}__isnull": False}).exclude(**{column: F("shown")}).exists()


def check_currency_change(shop: Shop, currency: str) -> None:
    """Raise ``CurrencyChangeRefused`` if the currency is unknown, or if the shop has amounts in another currency."""
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
