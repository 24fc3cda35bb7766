"""Steps with gift cards, in a shop with the steps of orders, discounts and draft orders."""

from collections.abc import Sequence
from dataclasses import astuple
from decimal import Decimal

from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from tests.model.arithmetic import ZERO, to_money, to_text
from tests.model.comparisons import DrivenOrder
from tests.model.draft_machine import DraftMachine
from tests.model.gift_card_model import CardPayment, GiftCardModel, add_up_cards
from tests.model.machine import INDEX
from tests.model.order_model import Payment
from tests.support import sales_driver
from tests.support.types import JsonObject


class SalesMachine(DraftMachine):
    """A shop with gift cards in the shop currency."""

    def __init__(self) -> None:
        super().__init__()
        self.cards: list[GiftCardModel] = []

    @precondition(lambda self: len(self.cards) < 4)
    @rule(value=st.sampled_from([1, 2500, 9999, 100_000]))
    def issue_card(self, value: int) -> None:
        amount = value * self.unit
        self.note(f"issue a card of {amount}")
        card = self.send("gift_cards.json", {"gift_card": {"initial_value": self.text(amount)}})["gift_card"]
        self.cards.append(GiftCardModel(card["id"], self.currency, amount))

    @precondition(lambda self: self.cards)
    @rule(index=INDEX, value=st.sampled_from([-100_000, -2500, -1, 0, 1, 777]))
    def adjust_card(self, index: int, value: int) -> None:
        """Change a balance, which is refused if it would become negative, or if the card is disabled."""
        card, amount = self.cards[index % len(self.cards)], value * self.unit
        self.note(f"adjust card {card.pk} by {amount}")
        body = {"adjustment": {"amount": self.text(amount)}}
        response = self.api.post(f"gift_cards/{card.pk}/adjustments.json", body)
        assert response.status_code in {201, 422}, (self.log, response.content)
        self.expect("refusal of adjustment", response.status_code == 422, not card.may_change(amount))
        if card.may_change(amount):
            card.entries.append(amount)

    @precondition(lambda self: self.cards)
    @rule(index=INDEX, chance=st.integers(0, 2))
    def disable_card(self, index: int, chance: int) -> None:
        if not chance:
            card = self.cards[index % len(self.cards)]
            self.note(f"disable card {card.pk}")
            self.send(f"gift_cards/{card.pk}/disable.json")
            card.is_disabled = True

    @precondition(lambda self: self.cards)
    @rule(index=INDEX, choice=INDEX, tenths=st.sampled_from([3, 10, 10]), captures=st.booleans())
    def pay_with_card(self, index: int, choice: int, tenths: int, captures: bool) -> None:
        """Pay with a card, at once or by a captured authorization. This is refused if the balance is too low."""
        order = self.pick(index)
        if order is None or len(order.amounts.payments) == 3:
            return
        card, currency = self.cards[choice % len(self.cards)], order.terms.presentment
        amount = to_money(order.amounts.outstanding * tenths / 10, currency)
        if amount <= 0:
            return
        self.note(f"pay {amount} {currency} of {order.pk} with card {card.pk}, captures: {captures}")
        payment: JsonObject = {
            "kind": "authorization" if captures else "sale",
            "amount": to_text(amount, currency),
            "currency": currency,
            "gateway": "gift_card",
            "receipt": {"gift_card_id": card.pk},
        }
        response = self.api.post(f"{order.path}/transactions.json", {"transaction": payment})
        assert response.status_code in {201, 422}, (self.log, response.content)
        is_refused = currency != card.currency or not card.may_change(-amount)
        self.expect(f"refusal of payment {response.content!r}", response.status_code == 422, is_refused)
        if not is_refused:
            card.entries.append(-amount)
            if captures:
                parent = response.json()["transaction"]["id"]
                self.send(f"{order.path}/transactions.json", {"transaction": {"kind": "capture", "parent_id": parent}})
            order.amounts.payments.append(CardPayment(amount, card=card))
        self.compare(order)

    def choose_gateway(self, payment: Payment) -> str:
        """Refund to the card, or through another gateway if the card is disabled."""
        return "gift_card" if isinstance(payment, CardPayment) and not payment.card.is_disabled else "manual"

    def settle_refund(self, order: DrivenOrder, shares: Sequence[Decimal]) -> None:
        sales_driver.run_refund_jobs(self.shop)
        # A canceled order refunds payments before they are compared, so all payments are known here.
        for payment, share in zip(order.amounts.payments, shares, strict=True):
            if isinstance(payment, CardPayment):
                payment.return_to_card(share)

    def may_refund_all(self, order: DrivenOrder) -> bool:
        payments = order.amounts.payments
        return not any(
            isinstance(payment, CardPayment) and payment.card.is_disabled and payment.left for payment in payments
        )

    @invariant()
    def compare_cards(self) -> None:
        for card in self.cards:
            shown = self.read(f"gift_cards/{card.pk}.json")["gift_card"]
            self.expect(f"balance of card {card.pk}", Decimal(shown["balance"]), card.balance)
            self.expect(f"initial value of card {card.pk}", Decimal(shown["initial_value"]), card.value)
            self.expect(f"state of card {card.pk}", shown["disabled_at"] is not None, card.is_disabled)
            rows = self.read(f"gift_cards/{card.pk}/adjustments.json")["adjustments"]
            entries = [Decimal(row["amount"]) for row in sorted(rows, key=lambda row: row["number"])]
            self.expect(f"ledger of card {card.pk}", entries, card.entries)

    def teardown(self) -> None:
        """Compare the liability report with the sums of all cards."""
        try:
            if self.cards:
                expected = astuple(add_up_cards(self.cards))
                self.expect("liability", sales_driver.get_liability(self.currency), expected)
                self.expect("sums of the ledgers", min(card.balance for card in self.cards) >= ZERO, True)
        finally:
            super().teardown()
