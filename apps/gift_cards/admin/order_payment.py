"""The page on which staff pay an order with a gift card by its code: first the code, then the amount to confirm."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.permissions import has_permission
from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.core.money import ZERO, format_decimal
from apps.gift_cards.admin.code_entry import EnteredCard, enter_code, read_token, show_card
from apps.gift_cards.domain.code_payments import CodeRefused, check_can_pay, get_order_due, may_need_payment, pay_order
from apps.orders.admin.extension_points import OrderAction, action_sources
from apps.orders.models import Order

PERMISSION = "orders.change_order"


@action_sources.register("gift cards")
def get_payment_actions(request: HttpRequest, order: Order) -> Iterator[OrderAction]:
    if may_need_payment(order) and has_permission(request, PERMISSION):
        url = reverse("admin:gift_cards_giftcard_pay", args=[order.pk])
        yield OrderAction(_("Pay with gift card…"), url, order=15)


@dataclass(slots=True)
class OrderPayment:
    """The state of the page: the entered card, and the errors of the field and of the page.

    ``amount`` is what the card pays, and ``due`` is what is due before.
    """

    order: Order
    code: str = ""
    entered: EnteredCard | None = None
    code_errors: Sequence[str] = ()
    errors: Sequence[str] = ()
    due: Decimal = ZERO

    @property
    def amount(self) -> Decimal:
        return min(self.entered.card.balance, self.due) if self.entered else ZERO

    @property
    def amount_value(self) -> str:
        return format_decimal(self.amount, self.order.currency)

    @property
    def amount_label(self) -> str:
        return self._format(self.amount)

    @property
    def facts(self) -> list[tuple[str, str]]:
        rows = [(_("Balance due"), self._format(self.due))]
        if self.entered:
            rows += [
                (_("Gift card"), self.entered.name),
                (pgettext("gift card", "Balance"), self.entered.balance_label),
                (_("Paid with the gift card"), self.amount_label),
                (_("Still due afterwards"), self._format(self.due - self.amount)),
            ]
        return rows

    def describe_payment(self, amount: Decimal) -> str:
        texts = {"amount": self._format(amount), "card": self.entered.name if self.entered else ""}
        if rest := self.due - amount:
            text = _("{amount} was paid with the gift card {card}. {rest} is still due.")
            return text.format(rest=self._format(rest), **texts)
        return _("{amount} was paid with the gift card {card}. The order is paid.").format(**texts)

    def _format(self, amount: Decimal) -> str:
        return formats.format_money(amount, self.order.currency)


def load_payment(request: HttpRequest, order: Order, *, at: datetime) -> OrderPayment:
    """Return the state of the page for the submitted code, or for the card that was already entered."""
    page = OrderPayment(order, code=request.POST.get("gift_card_code", ""), due=get_order_due(order))
    if not page.due:
        page.errors = [_("Nothing is due for this order.")]
        return page
    if request.method != "POST":
        return page
    try:
        token = request.POST.get("gift_card", "")
        if token:
            page.entered = _read_card(request, token, order, at=at)
        else:
            page.entered = enter_code(request, page.code, order.currency, at=at)
    except CodeRefused as error:
        page.code_errors = error.errors["gift_card_code"]
    return page


def confirm_payment(request: HttpRequest, page: OrderPayment, *, actor: str, at: datetime) -> str:
    """Pay the amount that the user confirmed, and return the message. Return "" after an error."""
    if page.entered is None:
        return ""
    if request.POST.get("amount") != page.amount_value:
        page.errors = [_("The balance or the amount due has changed. Check the amount, then pay again.")]
        return ""
    try:
        amount = pay_order(page.order, page.entered.card, page.amount, actor=actor, at=at).amount
    except DomainError as error:
        # Show what is left, and no button for a card that cannot pay.
        page.due = get_order_due(page.order)
        card = page.entered.card
        card.refresh_from_db()
        page.errors = [_("Nothing was paid."), format_errors(error)]
        try:
            check_can_pay(card, page.order.currency, at=at)
        except CodeRefused:
            page.entered = None
        return ""
    return page.describe_payment(amount)


def _read_card(request: HttpRequest, token: str, order: Order, *, at: datetime) -> EnteredCard:
    entered = read_token(request, token)
    if entered is None:
        raise CodeRefused(_("Enter the code again."))
    check_can_pay(entered.card, order.currency, at=at)
    return show_card(request, entered.card)
