"""Entering the code of a gift card in the panel, with a limit on wrong codes.

After a code is entered, pages contain a signed reference to the card instead of the code.
"""

import math
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.core import signing
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.core.admin.staff_request import as_staff_request
from apps.core.i18n import formats
from apps.core.money import format_decimal
from apps.core.rest.requests.brute_force import AttemptBucket, count_attempt, uncount_attempt
from apps.gift_cards.domain.code_payments import CodeRefused, check_can_pay, find_card_by_code
from apps.gift_cards.models import GiftCard

# A staff member can enter this many wrong codes in a shop at once, and one more per minute.
MAX_WRONG_CODES = 10
_WRONG_CODES_PER_SECOND = 1 / 60
_SALT = "apps.gift_cards.admin.code_entry"
_MAX_AGE = 12 * 60 * 60


@dataclass(frozen=True, slots=True)
class EnteredCard:
    """A card that was found by its code. ``balance`` is the balance that the user saw."""

    card: GiftCard
    balance: Decimal
    token: str

    @property
    def has_changed(self) -> bool:
        return self.card.balance != self.balance

    @property
    def name(self) -> str:
        return f"•••• {self.card.last_characters}"

    @property
    def balance_label(self) -> str:
        return formats.format_money(self.card.balance, self.card.currency)


def enter_code(request: HttpRequest, code: str, currency: str, *, at: datetime) -> EnteredCard:
    """Return the card with a code, if the card can pay an amount in a currency.

    Raises:
        CodeRefused: The code is missing or wrong, too many wrong codes were entered, or the card cannot pay.
    """
    if not code.strip():
        raise CodeRefused(_("Enter the code of the gift card."))
    bucket = _get_bucket(request)
    if seconds := count_attempt([bucket]):
        minutes = math.ceil(seconds / 60)
        text = ngettext(
            "You entered too many wrong codes. Try again in {count} minute.",
            "You entered too many wrong codes. Try again in {count} minutes.",
            minutes,
        )
        raise CodeRefused(text.format(count=minutes))
    card = find_card_by_code(code)
    if card is None:
        raise CodeRefused(_("No gift card of this shop has this code. Check the code."))
    uncount_attempt([bucket])
    check_can_pay(card, currency, at=at)
    return show_card(request, card)


def show_card(request: HttpRequest, card: GiftCard) -> EnteredCard:
    """Return a card with its current balance and with a new token."""
    staff = as_staff_request(request)
    values = [staff.shop.pk, staff.user.pk, card.pk, format_decimal(card.balance, card.currency)]
    return EnteredCard(card, card.balance, signing.dumps(values, salt=_SALT))


def read_token(request: HttpRequest, token: str) -> EnteredCard | None:
    """Return the card of a token, or None if the token is invalid, too old, or from another user or shop."""
    staff = as_staff_request(request)
    try:
        shop_id, user_id, card_id, balance = signing.loads(token, salt=_SALT, max_age=_MAX_AGE)
    except signing.BadSignature:
        return None
    if (shop_id, user_id) != (staff.shop.pk, staff.user.pk):
        return None
    card = GiftCard.objects.filter(pk=card_id).first()
    return EnteredCard(card, Decimal(balance), token) if card else None


def _get_bucket(request: HttpRequest) -> AttemptBucket:
    staff = as_staff_request(request)
    key = f"guess:gift_card:{staff.shop.pk}:{staff.user.pk}"
    return AttemptBucket(key, MAX_WRONG_CODES, _WRONG_CODES_PER_SECOND)
