"""Columns that the list of gift cards shares with the customer page."""

from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.admin.theme import display
from apps.core.i18n import formats
from apps.gift_cards.domain.states import get_state
from apps.gift_cards.models import GiftCard

STATE_KINDS = {"active": "success", "used": "default", "expired": "warning", "disabled": "danger"}


class GiftCardColumns:
    @display(description=gettext_lazy("Code"))
    def masked_code(self, card: GiftCard) -> str:
        return f"•••• {card.last_characters}"

    @display(description=pgettext_lazy("gift card", "Balance"))
    def balance_label(self, card: GiftCard) -> str:
        return formats.format_money(card.balance, card.currency)

    @display(description=gettext_lazy("Initial value"))
    def value_label(self, card: GiftCard) -> str:
        return formats.format_money(card.initial_value, card.currency)

    @display(description=gettext_lazy("Status"), label=STATE_KINDS)
    def state_label(self, card: GiftCard) -> tuple[str, str]:
        state = get_state(card)
        return state.value, str(state.label)
