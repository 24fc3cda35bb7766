"""Steps with gift cards, in a shop with the steps of orders, discounts and draft orders."""

from collections.abc import Sequence
from dataclasses import astuple
from decimal import Decimal

from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from tests.model.arithmetic import ZERO, to_money, to_text
from tests.model.comparisons import DrivenOrder
from tests.model.draft_machine import DraftMachine
from tests.model.gift_card_model import CardAuthorization, CardPayment, GiftCardModel, add_up_cards
from tests.model.machine import INDEX
from tests.model.order_model import Authorization, Payment
from tests.support import sales_driver
from tests.support.types import JsonObject


class SalesMachine(DraftMachine):
    """A shop with gift cards in the shop currency, and with authorizations of cards and other gateways."""

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
    @rule(index=INDEX, chance=st.integers(0, 2))
    def expire_card(self, index: int, chance: int) -> None:
        card = self.cards[index % len(self.cards)]
        if not chance and not card.is_disabled:
            self.note(f"expire card {card.pk}")
            sales_driver.expire_card(card.pk)
            card.is_expired = True

    @precondition(lambda self: self.cards)
    @rule(index=INDEX, choice=INDEX, tenths=st.sampled_from([3, 10, 10]))
    def pay_with_card(self, index: int, choice: int, tenths: int) -> None:
        """Pay with a card, which is refused if the card is disabled or expired, or if its balance is too low."""
        order = self.pick(index)
        if order is None or len(order.amounts.payments) == 3:
            return
        card = self.cards[choice % len(self.cards)]
        amount = to_money(order.amounts.outstanding * tenths / 10, order.terms.presentment)
        if amount > 0 and self.send_card_payment(order, "sale", amount, card) is not None:
            order.amounts.payments.append(CardPayment(amount, card=card))
        self.compare(order)

    @precondition(lambda self: self.cards)
    @rule(index=INDEX, choice=INDEX, tenths=st.sampled_from([3, 10, 15]), captured=st.sampled_from([0, 3, 10]))
    def authorize(self, index: int, choice: int, tenths: int, captured: int) -> None:
        """Authorize an amount of a card or through another gateway. Perhaps capture it at once, or a part of it."""
        order = self.pick(index)
        if order is None or len(order.amounts.authorizations) == 3:
            return
        amount = to_money(order.amounts.outstanding * tenths / 10, order.terms.presentment)
        if amount <= 0:
            return
        card = self.cards[choice // 2 % len(self.cards)] if choice % 2 else None
        authorization = self.send_authorization(order, amount, card)
        if authorization is not None:
            order.amounts.authorizations.append(authorization)
            self.capture_part(order, authorization, captured)
        self.compare(order)

    @rule(index=INDEX, choice=INDEX, tenths=st.sampled_from([3, 10]))
    def capture(self, index: int, choice: int, tenths: int) -> None:
        if (found := self.pick_authorization(index, choice)) is not None:
            self.capture_part(*found, tenths)
            self.compare(found[0])

    @rule(index=INDEX, choice=INDEX)
    def void(self, index: int, choice: int) -> None:
        """Void an authorization, which is refused if a part of it is captured."""
        if (found := self.pick_authorization(index, choice)) is None:
            return
        order, authorization = found
        self.note(f"void {authorization.pk} of {order.pk}, captured: {authorization.is_captured}")
        body = {"transaction": {"kind": "void", "parent_id": authorization.pk}}
        response = self.api.post(f"{order.path}/transactions.json", body)
        assert response.status_code in {201, 422}, (self.log, response.content)
        self.expect("refusal of void", response.status_code == 422, authorization.is_captured)
        if not authorization.is_captured:
            authorization.release()
            order.amounts.has_voids = True
        self.compare(order)

    def pick_authorization(self, index: int, choice: int) -> tuple[DrivenOrder, Authorization] | None:
        found = [
            (order, row)
            for order in self.orders
            for row in order.amounts.authorizations
            if row.left and not order.amounts.is_cancelled
        ]
        return found[(index + choice) % len(found)] if found else None

    def capture_part(self, order: DrivenOrder, authorization: Authorization, tenths: int) -> None:
        """Capture a part of an authorization, but not more than the balance due."""
        currency = order.terms.presentment
        amount = min(to_money(authorization.left * tenths / 10, currency), order.amounts.outstanding)
        if amount <= 0:
            return
        self.note(f"capture {amount} of {authorization.pk}")
        self.send_transaction(order, kind="capture", parent_id=authorization.pk, amount=to_text(amount, currency))
        order.amounts.payments.append(authorization.capture(amount))

    def send_authorization(
        self, order: DrivenOrder, amount: Decimal, card: GiftCardModel | None
    ) -> Authorization | None:
        if card is not None:
            pk = self.send_card_payment(order, "authorization", amount, card)
            return None if pk is None else CardAuthorization(pk, amount, card=card)
        currency = order.terms.presentment
        self.note(f"authorize {amount} {currency} of {order.pk}")
        pk = self.send_transaction(order, kind="authorization", amount=to_text(amount, currency))
        return Authorization(pk, amount)

    def send_transaction(self, order: DrivenOrder, **values: object) -> int:
        body = {"transaction": {"currency": order.terms.presentment, **values}}
        return int(self.send(f"{order.path}/transactions.json", body)["transaction"]["id"])

    def send_card_payment(self, order: DrivenOrder, kind: str, amount: Decimal, card: GiftCardModel) -> int | None:
        """Redeem a card. Return the id of the transaction, or None if it is refused."""
        currency = order.terms.presentment
        self.note(f"{kind} of {amount} {currency} of {order.pk} with card {card.pk}")
        payment: JsonObject = {
            "kind": kind,
            "amount": to_text(amount, currency),
            "currency": currency,
            "gateway": "gift_card",
            "receipt": {"gift_card_id": card.pk},
        }
        response = self.api.post(f"{order.path}/transactions.json", {"transaction": payment})
        assert response.status_code in {201, 422}, (self.log, response.content)
        may_pay = card.may_pay(amount, currency)
        self.expect(f"refusal of payment {response.content!r}", response.status_code == 201, may_pay)
        if not may_pay:
            return None
        card.entries.append(-amount)
        return int(response.json()["transaction"]["id"])

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
            # The parts of a refund are jobs of their own, which run in any order.
            entries = sorted(Decimal(row["amount"]) for row in rows)
            self.expect(f"ledger of card {card.pk}", entries, sorted(card.entries))

    def teardown(self) -> None:
        """Compare the liability report with the sums of all cards."""
        try:
            if self.cards:
                expected = astuple(add_up_cards(self.cards))
                self.expect("liability", sales_driver.get_liability(self.currency), expected)
                self.expect("sums of the ledgers", min(card.balance for card in self.cards) >= ZERO, True)
        finally:
            super().teardown()
