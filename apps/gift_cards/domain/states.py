"""The states of gift cards, which follow from the columns and today's date in the shop's time zone."""

from datetime import date, datetime

from django.db.models import Q, TextChoices
from django.utils import timezone
from django.utils.translation import pgettext_lazy

from apps.core.money import ZERO
from apps.core.tenancy.scope import get_current_shop
from apps.gift_cards.models import GiftCard


class State(TextChoices):
    """The state of a card. If several states fit, the order is disabled, expired, used."""

    ACTIVE = "active", pgettext_lazy("gift card", "Active")
    USED = "used", pgettext_lazy("gift card", "Used up")
    EXPIRED = "expired", pgettext_lazy("gift card", "Expired")
    DISABLED = "disabled", pgettext_lazy("gift card", "Disabled")


def get_day(at: datetime) -> date:
    """Return the day of a time in the shop's time zone."""
    return at.astimezone(get_current_shop().tzinfo).date()


def get_state(card: GiftCard) -> State:
    if card.disabled_at is not None:
        return State.DISABLED
    if card.expires_on is not None and card.expires_on < get_day(timezone.now()):
        return State.EXPIRED
    return State.USED if card.balance <= ZERO else State.ACTIVE


def build_state_condition(state: str) -> Q:
    """Return the condition for the cards in a state."""
    if state == State.DISABLED:
        return Q(disabled_at__isnull=False)
    is_expired = Q(expires_on__isnull=False, expires_on__lt=get_day(timezone.now()))
    if state == State.EXPIRED:
        return Q(disabled_at=None) & is_expired
    is_used = Q(balance__lte=ZERO)
    return Q(disabled_at=None) & ~is_expired & (is_used if state == State.USED else ~is_used)
