"""Calculate what a shop owes to the holders of gift cards, and how this liability changed in a date range.

Days are in the shop's time zone. A ledger row counts at the time it was created. A card is no longer a liability once
it is disabled, or after its current expiry date. Changes to the balance of an expired card are part of ``expired``, so
that the opening liability and all changes always add up to the closing liability.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Case, Count, DecimalField, F, Q, QuerySet, Sum, Value, When
from django.db.models.functions import TruncDate
from django.utils import timezone

from apps.core.money import ZERO
from apps.core.tenancy.scope import get_current_shop
from apps.gift_cards.models import GiftCardAdjustment
from apps.refunds.domain.refund_report import STEPS, RefundReportRange

_AMOUNT = DecimalField(max_digits=20, decimal_places=3)


@dataclass(frozen=True, slots=True)
class Movements:
    """The ledger rows of a period: new cards with their values, and the other amounts by sign."""

    cards: int = 0
    issued: Decimal = ZERO
    added: Decimal = ZERO
    subtracted: Decimal = ZERO

    @property
    def total(self) -> Decimal:
        return self.issued + self.added - self.subtracted


@dataclass(frozen=True, slots=True)
class Liability:
    """The liability at the beginning and end of a date range, and the changes in between."""

    opening: Decimal
    movements: Movements
    disabled: Decimal
    closing: Decimal

    @property
    def expired(self) -> Decimal:
        return self.opening + self.movements.total - self.disabled - self.closing


def get_liabilities(span: RefundReportRange) -> dict[str, Liability]:
    """Return the liability of each currency with movements, with the shop currency first."""
    begin, end = span.bounds
    opening, closing = _sum_open_balances(begin, span.first), _sum_open_balances(end, span.last + timedelta(days=1))
    disabled = _sum_disabled(begin, end)
    movements = {currency: row for (currency,), row in _sum_movements(span, {}).items()}
    shop_currency = get_current_shop().currency
    currencies = sorted(
        {shop_currency, *opening, *closing, *disabled, *movements}, key=lambda c: (c != shop_currency, c)
    )
    return {
        currency: Liability(
            opening.get(currency, ZERO),
            movements.get(currency, Movements()),
            disabled.get(currency, ZERO),
            closing.get(currency, ZERO),
        )
        for currency in currencies
    }


def get_movements_by_period(span: RefundReportRange) -> list[tuple[date, str, Movements]]:
    """Return the movements of each period and currency that has any, earliest first."""
    sums = _sum_movements(span, {"period": STEPS[span.step]("created_at")})
    rows = [(timezone.localtime(period).date(), currency, row) for (currency, period), row in sums.items()]
    return sorted(rows, key=lambda row: row[:2])


def _sum_open_balances(moment: datetime, day: date) -> dict[str, Decimal]:
    """Return the balances at the beginning of a day, by currency. ``moment`` is the time at which the day begins."""
    is_valid = Q(card__expires_on=None) | Q(card__expires_on__gte=day)
    is_enabled = Q(card__disabled_at=None) | Q(card__disabled_at__gte=moment)
    return _sum_amounts(_get_rows().filter(is_valid, is_enabled, created_at__lt=moment))


def _sum_disabled(begin: datetime, end: datetime) -> dict[str, Decimal]:
    """Return the balances of the cards that were disabled in a range before they expired, by currency."""
    day = TruncDate("card__disabled_at")
    was_valid = Q(card__expires_on=None) | Q(card__expires_on__gte=day)
    disabled = _get_rows().filter(was_valid, card__disabled_at__gte=begin, card__disabled_at__lt=end)
    return _sum_amounts(disabled)


def _get_rows() -> QuerySet[GiftCardAdjustment]:
    return GiftCardAdjustment.objects.order_by()


def _sum_amounts(rows: QuerySet[GiftCardAdjustment]) -> dict[str, Decimal]:
    return dict(rows.values_list("card__currency").annotate(total=Sum("amount")))


def _sum_movements(span: RefundReportRange, keys: Mapping[str, Any]) -> dict[tuple[Any, ...], Movements]:
    """Return the movements by currency and by the additional keys."""
    begin, end = span.bounds
    rows = _get_rows().filter(created_at__gte=begin, created_at__lt=end).annotate(**keys)
    is_first, is_later = Q(number=1), Q(number__gt=1)
    sums = rows.values_list("card__currency", *keys).annotate(
        cards=Count("pk", filter=is_first),
        issued=_sum_if(is_first),
        added=_sum_if(is_later & Q(amount__gt=0)),
        subtracted=_sum_if(is_later & Q(amount__lt=0)),
    )
    result = {}
    for *key, cards, issued, added, subtracted in sums:
        result[tuple(key)] = Movements(cards, issued, added, -subtracted)
    return result


def _sum_if(condition: Q) -> Sum:
    return Sum(Case(When(condition, then=F("amount")), default=Value(ZERO), output_field=_AMOUNT))
