"""Pay with a gift card by its code. Anyone who knows the code may spend the card, as at a checkout."""

from datetime import datetime
from decimal import Decimal

from django.utils.translation import gettext as _

from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.core.money import ZERO
from apps.gift_cards.domain import codes
from apps.gift_cards.domain.payments import Obstacle, build_payment, find_obstacle
from apps.gift_cards.models import GiftCard
from apps.orders.domain.payments import create_transaction, get_payable_amount
from apps.orders.domain.selectors import get_transactions
from apps.orders.models import Order, Transaction


class CodeRefused(DomainError):
    """Raised when a code is wrong, or when the card with the code cannot pay."""

    field = "gift_card_code"


def find_card_by_code(code: str) -> GiftCard | None:
    """Return the shop's gift card with a code, which is compared by its keyed digest."""
    normalized = codes.normalize_code(code)
    if not codes.is_valid_code(normalized):
        return None
    return GiftCard.objects.filter(code_digest__in=codes.calculate_digests(normalized)).first()


def check_can_pay(card: GiftCard, currency: str, *, at: datetime) -> None:
    """Check that a card can pay an amount in a currency.

    Raises:
        CodeRefused: The card is disabled, expired or used up, or has another currency.
    """
    obstacle = find_obstacle(card, currency, at=at)
    if obstacle is Obstacle.DISABLED:
        raise CodeRefused(_("This gift card is disabled."))
    if obstacle is Obstacle.EXPIRED:
        day = formats.format_date(card.expires_on, "j M Y") if card.expires_on else ""
        raise CodeRefused(_("This gift card expired on {day}.").format(day=day))
    if obstacle is Obstacle.CURRENCY:
        text = _("This gift card is in {card_currency}, but the order is in {order_currency}.")
        raise CodeRefused(text.format(card_currency=card.currency, order_currency=currency))
    if card.balance <= ZERO:
        raise CodeRefused(_("This gift card has no balance left."))


def may_need_payment(order: Order) -> bool:
    """Return True if an amount is due that no authorization covers. Pending payments are not read."""
    is_authorized = order.financial_status == Order.FinancialStatus.AUTHORIZED
    return order.outstanding > ZERO and order.cancelled_at is None and not is_authorized


def get_order_due(order: Order) -> Decimal:
    """Return how much of an order a gift card can pay, in the order's currency."""
    return get_payable_amount(order, get_transactions(order), order.currency) if may_need_payment(order) else ZERO


def pay_order(order: Order, card: GiftCard, amount: Decimal, *, actor: str, at: datetime) -> Transaction:
    """Pay an amount of an order with a card that was found by its code.

    Raises:
        DomainError: The order is canceled or less is due, or the card cannot pay the amount.
    """
    return create_transaction(order, build_payment(card, amount), actor=actor, at=at)
