"""The gift card on the page that creates an order. Its code is entered first, and the new order is paid with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _

from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.core.money import ZERO
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs
from apps.draft_orders.admin.order_form.base import Steps
from apps.draft_orders.models import DraftOrder
from apps.gift_cards.admin.code_entry import EnteredCard, enter_code, read_token, show_card
from apps.gift_cards.domain.code_payments import CodeRefused, check_can_pay
from apps.gift_cards.domain.payments import build_payment

CODE, TOKEN, REMOVE, STEP = "gift_card_code", "gift_card", "remove_gift_card", "gift_card"


class CardChanged(DomainError):
    """Raised when the balance of the card is no longer the balance that the user saw."""

    status = 409


class CodeSteps(Steps):
    search_field = CODE


@dataclass(slots=True)
class GiftCardEntry:
    """The card that was entered, or the text in the field and the errors of the field."""

    request: HttpRequest
    code: str = ""
    entered: EnteredCard | None = None
    errors: Sequence[str] = ()

    @classmethod
    def load(cls, request: HttpRequest, data: QueryDict) -> "GiftCardEntry":
        entry = cls(request, code=data.get(CODE, "").strip())
        if (token := data.get(TOKEN, "")) and REMOVE not in data:
            entry.entered = read_token(request, token)
            if entry.entered is None:
                entry.errors = [_("Enter the code again.")]
        return entry

    def check_code(self, *, at: datetime) -> None:
        """Look up the entered code."""
        try:
            self.entered = enter_code(self.request, self.code, get_current_shop().currency, at=at)
        except CodeRefused as error:
            self.errors = error.errors["gift_card_code"]
        else:
            self.code = ""

    def build_payments(self, draft: DraftOrder, *, at: datetime) -> list[Attrs]:
        """Return the transaction that pays a draft order, or as much of it as the balance allows.

        Raises:
            CodeRefused, CardChanged: The card cannot pay, or has another balance than the page shows.
        """
        if self.entered is None or not draft.total_price:
            return []
        check_can_pay(self.entered.card, draft.currency, at=at)
        if self.entered.has_changed:
            raise CardChanged(_("The balance of the gift card has changed. Check the amounts, then try again."))
        return [build_payment(self.entered.card, self._get_amount(draft))]

    def reload(self, *, at: datetime) -> None:
        """Show the current balance after the card was refused, and remove a card that cannot pay."""
        if self.entered is None:
            return
        card = self.entered.card
        card.refresh_from_db()
        try:
            check_can_pay(card, get_current_shop().currency, at=at)
        except CodeRefused as error:
            self.entered, self.errors = None, error.errors["gift_card_code"]
        else:
            self.entered = show_card(self.request, card)

    def describe_payment(self, draft: DraftOrder) -> list[tuple[str, str]]:
        """Return what the card pays and what is still due, with labels."""
        if self.entered is None:
            return []
        amount = self._get_amount(draft)
        rows = [
            (_("Gift card {name}").format(name=self.entered.name), -amount),
            (_("Balance due"), draft.total_price - amount),
        ]
        return [(label, formats.format_money(value, draft.currency)) for label, value in rows]

    def _get_amount(self, draft: DraftOrder) -> Decimal:
        return min(self.entered.card.balance, draft.total_price) if self.entered else ZERO
