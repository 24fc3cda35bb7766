"""Staff pay orders with gift cards by their codes: on the order page, and in new orders."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from time_machine import TimeMachineFixture

from apps.core.jobs import consistency_checks
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.draft_orders.models import DraftOrder
from apps.gift_cards.domain.gift_cards import disable_gift_card
from apps.gift_cards.models import GiftCard
from apps.orders.models import Order, Transaction
from tests.support import factories
from tests.support.api_client import Response
from tests.support.factories import orders as order_factories
from tests.support.factories.draft_orders import CUSTOM_LINE, make_draft_order
from tests.support.factories.gift_cards import adjust, make_gift_card
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.html_forms import get_form
from tests.support.panel.pages import get_messages

pytestmark = pytest.mark.usefixtures("in_shop")

PAY, ADD, CHANGE = "gift_cards_giftcard_pay", "draft_orders_draftorder_add", "draft_orders_draftorder_change"
CODE = "abcd efgh 2345 6789"
CUSTOM = {"line-0-title": "Vase", "line-0-price": "100", "line-0-quantity": "1"}
CHECKS = {"gift card balances", "gift card payments"}


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    """Return a client for a staff member who takes orders and payments, but has no access to gift cards."""
    return admin_client_with("draft_orders", "orders", "edit_orders")


@pytest.fixture
def card(in_shop: Shop) -> GiftCard:
    return make_gift_card("30.00", code=CODE)


def make_order(shop: Shop) -> Order:
    return order_factories.make_order(shop, lines=[{"title": "Vase", "price": Decimal(100), "quantity": 1}])


def check(panel: Panel, order: Order, code: str = CODE) -> Response:
    """Enter a code on the page that pays an order."""
    return panel.forge(PAY, order.pk, step="check", gift_card_code=code)


def pay(panel: Panel, order: Order, page: Response, **values: str) -> Response:
    """Confirm the amount on the page."""
    data = get_form(page.content, "gift_card").data
    return panel.http.post(panel.url(PAY, order.pk), {**data, "step": "pay", **values}, follow=True)


def read_errors(page: Response) -> list[str]:
    payment = page.context["payment"]
    return [*payment.code_errors, *payment.errors]


def enter(panel: Panel, code: str = CODE, *, draft: DraftOrder | None = None, **values: object) -> Response:
    """Enter a code on the page that creates an order."""
    opened = panel.get(CHANGE, draft.pk) if draft else panel.get(ADD)
    data = get_form(opened.content, "last").data | {"step": "gift_card", "gift_card_code": code, **CUSTOM, **values}
    return panel.http.post(opened.request["PATH_INFO"], data)


def submit(panel: Panel, page: Response, step: str, **values: object) -> Response:
    data = get_form(page.content, "last").data | {"step": step, **values}
    return panel.http.post(page.request["PATH_INFO"], data)


def get_payments(order: Order) -> list[tuple[str, str, Any]]:
    return list(order.transactions.order_by("pk").values_list("kind", "gateway", "amount"))


def get_balance(card: GiftCard) -> Any:
    return GiftCard.objects.values_list("balance", flat=True).get(pk=card.pk)


def is_consistent() -> bool:
    return list(consistency_checks.find_differences(CHECKS)) == []


def test_a_card_pays_a_part_and_another_pays_the_rest(panel: Panel, shop: Shop, card: GiftCard) -> None:
    order = make_order(shop)
    total, second = order.total_price, make_gift_card("500.00", code="second2345")
    page = panel.get("orders_order_change", order.pk).content.decode()
    assert panel.url(PAY, order.pk) in page

    checked = check(panel, order, "ABCD-efgh 23456789")
    shown = checked.content.decode()
    assert all(text in shown for text in ("•••• 6789", "30.00 USD", "Pay 30.00 USD"))
    assert "23456789" not in shown
    assert (get_balance(card), order.transactions.count()) == (30, 0)

    done = pay(panel, order, checked)
    rest = total - 30
    assert get_messages(done) == "30.00 USD was paid with the gift card •••• 6789. 70.00 USD is still due."
    pay(panel, order, check(panel, order, "second2345"))

    order.refresh_from_db()
    assert get_payments(order) == [("sale", "gift_card", 30), ("sale", "gift_card", rest)]
    assert (order.financial_status, get_balance(card), get_balance(second)) == ("paid", 0, 500 - rest)
    assert panel.url(PAY, order.pk) not in panel.get("orders_order_change", order.pk).content.decode()
    assert read_errors(check(panel, order)) == ["Nothing is due for this order."]
    assert is_consistent()


def test_a_confirmed_payment_is_made_once(panel: Panel, shop: Shop, card: GiftCard) -> None:
    order = make_order(shop)
    one, other = check(panel, order), check(panel, order)

    pay(panel, order, one)
    repeated, second = pay(panel, order, one), pay(panel, order, other)

    assert get_payments(order) == [("sale", "gift_card", 30)]
    assert "already submitted" in get_messages(repeated)
    assert read_errors(second) == ["This gift card has no balance left."]
    assert is_consistent()


def test_a_changed_amount_must_be_confirmed_again(panel: Panel, shop: Shop, card: GiftCard) -> None:
    order = make_order(shop)
    page = check(panel, order)
    adjust(card.pk, "-10.00")

    changed = pay(panel, order, page)
    assert read_errors(changed) == ["The balance or the amount due has changed. Check the amount, then pay again."]
    assert not order.transactions.exists()
    pay(panel, order, changed)
    assert get_payments(order) == [("sale", "gift_card", 20)]


def make_unusable_card(problem: str) -> str:
    if problem == "other shop":
        with shop_scope(factories.make_shop()):
            make_gift_card(code="other23456")
        return "other23456"
    card = make_gift_card("30.00", code="unusable23")
    changes: dict[str, dict[str, Any]] = {
        "expired": {"expires_on": timezone.now().date() - timedelta(days=2)},
        "currency": {"currency": "EUR"},
        "used up": {"balance": 0},
    }
    GiftCard.objects.filter(pk=card.pk).update(**changes.get(problem, {"note": "x"}))
    if problem == "disabled":
        disable_gift_card(card, actor="system", at=timezone.now())
    return {"wrong": "wrong23456", "blank": " ", "short": "abc"}.get(problem, "unusable23")


UNKNOWN = "No gift card of this shop has this code. Check the code."


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ("wrong", UNKNOWN),
        ("short", UNKNOWN),
        ("other shop", UNKNOWN),
        ("blank", "Enter the code of the gift card."),
        ("disabled", "This gift card is disabled."),
        ("expired", "This gift card expired on "),
        ("currency", "This gift card is in EUR, but the order is in USD."),
        ("used up", "This gift card has no balance left."),
    ],
)
def test_unusable_cards_are_refused_at_the_field(panel: Panel, shop: Shop, problem: str, message: str) -> None:
    order, code = make_order(shop), make_unusable_card(problem)

    (error,) = read_errors(check(panel, order, code))
    assert error.startswith(message)
    page = enter(panel, code)

    assert page.context["gift_card"].errors[0].startswith(message)
    assert "100.00 USD" in page.content.decode()
    assert not Transaction.objects.exists()


def test_wrong_codes_are_limited_per_staff_member_and_shop(
    admin_client_with: PanelWith, shop: Shop, card: GiftCard, rate_limited: TimeMachineFixture
) -> None:
    panel, colleague = (admin_client_with("orders", "edit_orders", "draft_orders") for _ in range(2))
    order = make_order(shop)
    for number in range(9):
        assert read_errors(check(panel, order, f"wrong2345{number}")) == [UNKNOWN]
    # Right codes do not count.
    assert [read_errors(check(panel, order)) for _ in range(3)] == [[], [], []]
    assert enter(panel, "wrong23459").context["gift_card"].errors == [UNKNOWN]

    refused = ["You entered too many wrong codes. Try again in 1 minute."]
    assert read_errors(check(panel, order)) == refused
    assert enter(panel).context["gift_card"].errors == refused
    assert read_errors(check(colleague, order)) == []
    rate_limited.shift(61)
    assert read_errors(check(panel, order)) == []


def test_a_reference_to_a_card_works_only_for_its_user(
    admin_client_with: PanelWith, panel: Panel, shop: Shop, card: GiftCard
) -> None:
    order, other = make_order(shop), admin_client_with("orders", "edit_orders")
    data = get_form(check(panel, order).content, "gift_card").data
    token, amount = data["gift_card"][0], data["amount"][0]

    for values in ({"gift_card": token}, {"gift_card": str(card.pk)}, {"gift_card": f"{token}x"}):
        page = other.forge(PAY, order.pk, step="pay", amount=amount, **values)
        assert read_errors(page) == ["Enter the code again."]
    assert get_balance(card) == 30


def test_staff_who_may_not_edit_orders_cannot_pay(admin_client_with: PanelWith, shop: Shop, card: GiftCard) -> None:
    reader, order = admin_client_with("orders", "gift_cards"), make_order(shop)

    assert reader.get(PAY, order.pk).status_code == 403
    assert reader.url(PAY, order.pk) not in reader.get("orders_order_change", order.pk).content.decode()


@pytest.mark.parametrize(
    ("step", "value", "payments", "status"),
    [
        ("paid", "30.00", [("sale", "gift_card", 30), ("sale", "manual", 70)], "paid"),
        ("paid", "100.00", [("sale", "gift_card", 100)], "paid"),
        ("pending", "130.00", [("sale", "gift_card", 100)], "paid"),
        ("pending", "30.00", [("sale", "gift_card", 30)], "partially_paid"),
    ],
)
def test_a_new_order_is_paid_with_a_card(
    panel: Panel, step: str, value: str, payments: list[tuple[str, str, int]], status: str
) -> None:
    card = make_gift_card(value, code=CODE)
    page = enter(panel)
    shown = page.content.decode()
    amount = min(Decimal(value), Decimal(100))
    assert page.context["card_payment"] == [
        ("Gift card •••• 6789", f"-{amount:.2f} USD"), ("Balance due", f"{100 - amount:.2f} USD")
    ]  # fmt: skip
    assert "23456789" not in shown
    assert f"Balance {value} USD" in " ".join(shown.split())

    created = submit(panel, page, step)
    submit(panel, page, step)

    order = Order.objects.get()
    assert created["Location"] == panel.url("orders_order_change", order.pk)
    assert get_payments(order) == payments
    assert (order.financial_status, get_balance(card)) == (status, Decimal(value) - amount)
    assert DraftOrder.objects.get().order == order
    assert is_consistent()


def test_two_tabs_with_the_same_draft_and_card_pay_once(panel: Panel, card: GiftCard) -> None:
    draft = make_draft_order([CUSTOM_LINE])
    one, other = enter(panel, draft=draft), enter(panel, draft=draft)

    assert submit(panel, one, "paid").status_code == 302
    submit(panel, other, "paid")

    assert Order.objects.count() == 1
    assert [row.amount for row in card.adjustments.filter(kind="redemption")] == [-30]


def test_a_changed_balance_creates_no_order_until_it_was_seen(panel: Panel, card: GiftCard) -> None:
    page = enter(panel)
    adjust(card.pk, "-10.00")

    refused = submit(panel, page, "paid")
    assert refused.context["state"].errors == [
        "The balance of the gift card has changed. Check the amounts, then try again."
    ]
    assert refused.context["card_payment"][0][1] == "-20.00 USD"
    assert (Order.objects.count(), DraftOrder.objects.count()) == (0, 0)
    submit(panel, refused, "paid")
    assert get_payments(Order.objects.get()) == [("sale", "gift_card", 20), ("sale", "manual", 80)]


def test_a_typed_code_is_checked_before_the_order_is_created(panel: Panel, card: GiftCard) -> None:
    page = enter(panel, "", step="calculate")
    checked = submit(panel, page, "paid", gift_card_code=CODE)

    assert Order.objects.count() == 0
    assert "Nothing was saved yet" in get_messages(checked)
    assert checked.context["gift_card"].entered.card == card
    removed = submit(panel, checked, "", remove_gift_card="1")
    assert removed.context["gift_card"].entered is None
    assert submit(panel, removed, "paid").status_code == 302
    assert (get_payments(Order.objects.get()), get_balance(card)) == ([("sale", "manual", 100)], 30)


def test_a_saved_draft_does_not_charge_the_card(panel: Panel, card: GiftCard) -> None:
    saved = submit(panel, enter(panel), "save")

    assert "The gift card was not charged" in get_messages(panel.open(saved["Location"]))
    assert (get_balance(card), DraftOrder.objects.get().status) == (30, "open")


def test_an_invalid_reference_creates_no_order(panel: Panel, card: GiftCard) -> None:
    refused = submit(panel, enter(panel), "paid", gift_card="1")

    assert refused.context["state"].errors == ["Enter the code again."]
    assert not Order.objects.exists()
