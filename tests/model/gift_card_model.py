"""A model of gift cards with their ledgers, with its own arithmetic and no code of the product."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from tests.model.arithmetic import ZERO
from tests.model.order_model import Authorization, Payment


@dataclass(eq=False)
class GiftCardModel:
    """A gift card. ``entries`` are the changes to its balance after the initial value."""

    pk: int
    currency: str
    value: Decimal
    entries: list[Decimal] = field(default_factory=list)
    is_disabled: bool = False
    is_expired: bool = False

    @property
    def balance(self) -> Decimal:
        return sum(self.entries, self.value)

    def may_change(self, amount: Decimal) -> bool:
        return not self.is_disabled and bool(amount) and self.balance + amount >= 0

    def may_pay(self, amount: Decimal, currency: str) -> bool:
        """Return True if the card can pay. Expired cards can only be adjusted and get refunds."""
        return not self.is_expired and currency == self.currency and self.may_change(-amount)


@dataclass(eq=False)
class CardPayment(Payment):
    """A payment with a gift card. Refunds go back to the card unless it is disabled."""

    card: GiftCardModel = field(kw_only=True)

    def return_to_card(self, amount: Decimal) -> None:
        if amount and not self.card.is_disabled:
            self.card.entries.append(amount)


@dataclass(eq=False)
class CardAuthorization(Authorization):
    """An amount of a gift card that is held. Released amounts go back even if the card is disabled or expired."""

    card: GiftCardModel = field(kw_only=True)

    def capture(self, amount: Decimal) -> CardPayment:
        super().capture(amount)
        return CardPayment(amount, card=self.card)

    def release(self) -> None:
        self.card.entries.append(self.left)
        super().release()


@dataclass(frozen=True)
class LiabilityModel:
    """What a shop owes to the holders of cards, and the sums of all changes since the first card.

    A card that was already expired when it was disabled counts as expired.
    """

    cards: int
    issued: Decimal
    added: Decimal
    subtracted: Decimal
    disabled: Decimal
    expired: Decimal
    closing: Decimal


def add_up_cards(cards: Iterable[GiftCardModel]) -> LiabilityModel:
    cards = list(cards)
    entries = [amount for card in cards for amount in card.entries]
    return LiabilityModel(
        len(cards),
        sum((card.value for card in cards), ZERO),
        sum((amount for amount in entries if amount > 0), ZERO),
        -sum((amount for amount in entries if amount < 0), ZERO),
        sum((card.balance for card in cards if card.is_disabled and not card.is_expired), ZERO),
        sum((card.balance for card in cards if card.is_expired), ZERO),
        sum((card.balance for card in cards if not card.is_disabled and not card.is_expired), ZERO),
    )
