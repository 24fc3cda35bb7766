import re
from decimal import Decimal
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone
from time_machine import TimeMachineFixture

from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.orders.domain import edit_lines
from apps.orders.domain.edit_lines import LineEdit, OrderEdit
from apps.orders.models import Order, Transaction
from apps.refunds.models import Refund
from apps.shops.domain.tokens import issue_token
from tests.support.api_client import ApiClient, ClientWith, Response
from tests.support.factories.gift_cards import make_gift_card
from tests.support.factories.inventory import make_location
from tests.support.factories.orders import get_available, make_order, make_variant
from tests.support.factories.refunds import (
    create_bogus_order,
    get_transaction,
    is_money_consistent,
    refund_amount,
    run_refund_jobs,
)
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.html_forms import get_form
from tests.support.panel.pages import (
    CALCULATION,
    NEW,
    confirm_refund,
    get_row_ids,
    open_form,
    refund_by_form,
    review_refund,
)

pytestmark = pytest.mark.usefixtures("in_shop")

PAGE = "orders_order_change"


@pytest.fixture
def order(shop: Shop) -> Order:
    post = [{"title": "Post", "price": Decimal("5.00"), "tax_lines": []}]
    payments = [{"kind": "sale", "amount": Decimal("35.00"), "gateway": "bogus"}]
    lines = [{"variant_id": make_variant(shop, stock=5).pk, "quantity": 3}]
    values: Attrs = {"email": "ada@example.com", "inventory_behaviour": "decrement_obeying_policy"}
    return make_order(shop, lines=lines, shipping=post, transactions=payments, **values)


def get_text(response: Response) -> str:
    return " ".join(response.content.decode().split())


def find_missing(response: Response, *parts: str) -> list[str]:
    """Return the parts that the page does not contain."""
    return [part for part in parts if part not in get_text(response)]


def test_a_refund_is_worked_out_looked_at_and_made_once(refund_client: Panel, order: Order, shop: Shop) -> None:
    (line,), (payment,) = get_row_ids(order)
    typed = {"full_shipping": "on", "reason": "damage", "note": "Broken <b>", "notify": "on"}
    typed |= {f"units-{line}-unsent": "2"}
    response = refund_client.post(CALCULATION, order.pk, **typed)

    look = review_refund(refund_client, order, typed)
    assert not Refund.objects.exists()
    responses = [confirm_refund(refund_client, order, look) for _ in range(2)]

    assert get_text(response).count("25.00 USD") == 1
    assert response.context["suggestions"] == [(payment, "25.00")]
    missing = find_missing(
        look,
        "25.00 USD of the 35.00 USD payment will be refunded through bogus.",
        "2 × Mug - Blue: canceled, restocked at",
        "This email will be sent to ada@example.com:",
        "2 × Mug - Blue",
        "Refunded: 25.00 USD",
        "Broken &lt;b&gt;",
        "Damage",
        "Refund 25.00 USD </button>",
    )
    assert missing == []
    refund, me = Refund.objects.get(), refund_client.user.pk
    assert (refund.user_id, refund.reason, refund.note, refund.restock) == (me, "damage", "Broken <b>", True)
    assert [page.redirect_chain[-1][0] for page in responses] == [refund_client.url(PAGE, order.pk)] * 2
    texts = ("Refund created: 25.00 USD.", "Waiting for the gateway", "Refunded 25.00 USD through bogus")
    assert find_missing(responses[0], *texts) == find_missing(responses[1], "already submitted") == []
    assert get_available(order.line_items.get().variant) == 4  # type: ignore[arg-type]
    job = Job.objects.get(task="refunds.send_notification")
    run_refund_jobs(shop)
    queue.run_job(job.key)
    assert "Refunded" in get_text(refund_client.get(PAGE, order.pk))
    assert mail.outbox[0].body.strip() in look.context["mail"].body


def test_a_full_refund_is_one_click_and_works_without_scripts(refund_client: Panel, order: Order) -> None:
    (line,), (payment,) = get_row_ids(order)
    form = open_form(refund_client, order, all="1")

    for language, amount in (("en", "35.00"), ("de", "35,00")):
        calculated = refund_client.http.post(
            refund_client.url(NEW, order.pk), {**form, "step": "calculate"}, headers={"accept-language": language}
        )
        assert calculated.context["suggestions"] == [(payment, amount)]
    response = refund_by_form(refund_client, order, form)

    assert (form[f"units-{line}-unsent"], form["full_shipping"]) == (["3"], ["on"])
    assert "Refund created: 35.00 USD." in get_text(response)
    texts = ("All items in this order have already been refunded", "There are no payments to refund")
    assert find_missing(refund_client.get(NEW, order.pk), *texts) == []


def get_payments(response: Response) -> list[str]:
    """Return the payments before and after the refund from the summary of the order."""
    text = " ".join(re.sub(r"<[^>]*>", " ", get_text(response)).split())
    return re.findall(r"(?:Paid|Refunded so far|Pending refunds|This refund|Net payment) [\d.]+ USD", text)


def test_the_summary_shows_the_payments_before_and_after_the_refund(refund_client: Panel, order: Order) -> None:
    (line,), (payment,) = get_row_ids(order)
    before = refund_client.get(NEW, order.pk)
    look = review_refund(refund_client, order, {f"units-{line}-unsent": "1", f"payment-{payment}": "7.50"})
    confirm_refund(refund_client, order, look)
    after = refund_client.post(CALCULATION, order.pk, **{f"payment-{payment}": "2.50"})

    assert find_missing(before, f"Order {order.name} </a>", "Mug - Blue", "× 3", "> Review refund </button>") == []
    assert get_payments(before) == [
        "Paid 35.00 USD",
        "Refunded so far 0.00 USD",
        "This refund 0.00 USD",
        "Net payment 35.00 USD",
    ]
    assert get_payments(look)[2:] == ["This refund 7.50 USD", "Net payment 27.50 USD"]
    assert get_payments(after)[1:] == [
        "Refunded so far 0.00 USD",
        "Pending refunds 7.50 USD",
        "This refund 2.50 USD",
        "Net payment 25.00 USD",
    ]


def test_a_wrong_amount_has_no_payments_after_the_refund(refund_client: Panel, order: Order) -> None:
    _lines, (payment,) = get_row_ids(order)

    wrong = refund_client.post(CALCULATION, order.pk, **{f"payment-{payment}": "99.00"})

    assert get_payments(wrong) == ["Paid 35.00 USD", "Refunded so far 0.00 USD"]


@pytest.mark.parametrize(("included", "back"), [(True, "3.00"), (False, "3.60")])
def test_shipping_has_its_own_title(refund_client: Panel, shop: Shop, *, included: bool, back: str) -> None:
    tax = {"title": "VAT", "rate": Decimal("0.2"), "price": Decimal("1.20")}
    post = [{"title": "Post", "price": Decimal("6.00"), "tax_lines": [tax]}]
    order = make_order(shop, shipping=post, taxes_included=included, financial_status="paid")

    form = get_text(refund_client.get(NEW, order.pk))
    look = review_refund(refund_client, order, {"shipping": "3.00"})
    response = confirm_refund(refund_client, order, look)

    assert f"6.00 USD refundable, {'tax included' if included else 'before tax'}" in form
    assert find_missing(look, f"<dd> {back} USD </dd>", f"Refund {back} USD </button>") == []
    assert f"shipping {back} USD" in get_text(response)


def test_an_amount_is_changed_within_its_limits(refund_client: Panel, order: Order) -> None:
    (line,), (payment,) = get_row_ids(order)
    units = {f"units-{line}-unsent": "1"}

    more = review_refund(refund_client, order, {**units, f"payment-{payment}": "35.01"})
    look = review_refund(refund_client, order, {**units, f"payment-{payment}": "8.50", "reason": "restock"})
    confirm_refund(refund_client, order, look)

    assert "Enter at most 35.00 USD." in get_text(more)
    assert "1.50 USD less than the refund total." in get_text(look)
    refund = Refund.objects.get()
    adjustment = refund.order_adjustments.get()
    assert (adjustment.amount, adjustment.reason) == (Decimal("1.50"), "restock")
    assert get_transaction(refund).amount == Decimal("8.50")


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({}, "Select items, shipping or duties to refund"),
        ({"units-{line}-unsent": "4"}, "Enter at most 3."),
        ({"units-{line}-unsent": "-1"}, "greater than or equal to 0"),
        ({"units-{line}-unsent": "x"}, "Enter a whole number."),
        ({"units-{line}-unsent": "1", "restock-{line}-unsent": "cancel:999999"}, "Select a valid choice"),
        ({"shipping": "5.01"}, "Enter at most 5.00 USD."),
        ({"payment-{payment}": "1.001"}, "too many decimal places"),
        ({"units-{line}-unsent": "1", "reason": "because"}, "Select a valid choice"),
        ({"units-{line}-unsent": "1", "note": "a\0b"}, "Null characters are not allowed"),
    ],
)
def test_impossible_refunds_fail(refund_client: Panel, order: Order, typed: dict[str, str], message: str) -> None:
    (line,), (payment,) = get_row_ids(order)
    fields = {name.format(line=line, payment=payment): value for name, value in typed.items()}

    response = review_refund(refund_client, order, fields)
    displayed_response = refund_client.post(CALCULATION, order.pk, **fields)

    assert response.status_code == displayed_response.status_code == 200
    assert message in get_text(response)
    assert not Refund.objects.exists()


@pytest.mark.parametrize(
    ("typed", "gateway", "sentence"),
    [
        (
            [],
            "cards",
            "marked as refunded through cards, which is not installed here. You need to return the money there",
        ),
        (["on"], "manual", "marked as refunded manually"),
    ],
)
def test_a_refund_through_an_unknown_gateway_is_only_recorded(
    *, refund_client: Panel, shop: Shop, typed: list[str], gateway: str, sentence: str
) -> None:
    order = make_order(shop, transactions=[{"kind": "sale", "amount": Decimal("20.00"), "gateway": "cards"}])
    (line,), (payment,) = get_row_ids(order)

    form = refund_client.get(NEW, order.pk)
    look = review_refund(refund_client, order, {f"units-{line}-unsent": "1", f"by_hand-{payment}": typed})
    response = confirm_refund(refund_client, order, look)

    assert "This gateway is not installed here. The refund will only be recorded." in get_text(form)
    assert find_missing(look, f"10.00 USD of the 20.00 USD payment will be {sentence}") == []
    assert "Refund created: 10.00 USD." in get_text(response)
    transaction = get_transaction(Refund.objects.get())
    assert (transaction.gateway, transaction.status) == (gateway, "success")


@pytest.mark.parametrize(
    ("names_card", "note", "sentence", "status"),
    [
        (True, "", "10.00 USD of the 20.00 USD payment will be refunded through gift_card.", "pending"),
        (
            False,
            "The refund will only be recorded.",
            "10.00 USD of the 20.00 USD payment will be marked as refunded through gift_card. You need to return",
            "success",
        ),
    ],
)
def test_a_payment_with_a_gift_card_is_refunded_to_the_card(
    *, refund_client: Panel, shop: Shop, names_card: bool, note: str, sentence: str, status: str
) -> None:
    card = make_gift_card("20.00")
    receipt = {"gift_card_id": card.pk} if names_card else {}
    sale = {"kind": "sale", "amount": Decimal("20.00"), "gateway": "gift_card", "receipt": receipt}
    order = make_order(shop, transactions=[sale])
    (line,), _ = get_row_ids(order)

    form = refund_client.get(NEW, order.pk)
    look = review_refund(refund_client, order, {f"units-{line}-unsent": "1"})
    confirm_refund(refund_client, order, look)

    assert ("only be recorded" in get_text(form), note in get_text(form)) == (not names_card, True)
    assert find_missing(look, sentence) == []
    assert get_transaction(Refund.objects.get()).status == status
    run_refund_jobs(shop)
    card.refresh_from_db()
    assert card.balance == (10 if names_card else 20)
    row = card.adjustments.filter(kind="refund").first()
    assert (row.user_id if row else None) == (refund_client.user.pk if names_card else None)


def test_an_outdated_review_is_shown_again(refund_client: Panel, order: Order) -> None:
    (line,), _ = get_row_ids(order)
    look = review_refund(refund_client, order, {f"units-{line}-unsent": "2"})
    refund_amount(order, "30.00")

    refused = confirm_refund(refund_client, order, look)

    assert "20.00 USD" in get_text(look)
    assert Refund.objects.count() == 1
    assert "Enter at most 5.00 USD." in get_text(refused)


def test_units_that_were_sent_come_back_to_a_place_of_choice(refund_client: Panel, order: Order, shop: Shop) -> None:
    depot = make_location(shop)
    (line,), _ = get_row_ids(order)
    order.line_items.update(fulfilled_quantity=2, fulfillable_quantity=1)

    form = open_form(refund_client, order)
    typed = {f"units-{line}-sent": "2", f"restock-{line}-sent": f"return:{depot.pk}"}
    look = review_refund(refund_client, order, typed)
    confirm_refund(refund_client, order, look)

    assert {f"units-{line}-sent", f"units-{line}-unsent"} <= form.keys()
    assert "2 × Mug - Blue: returned, restocked at Depot." in get_text(look)
    back = Refund.objects.get().refund_line_items.get()
    assert (back.restock_type, back.location, back.quantity) == ("return", depot, 2)


def test_items_that_an_edit_removed_are_refunded(refund_client: Panel, shop: Shop) -> None:
    order = make_order(shop, lines=[{"title": "Mug", "price": Decimal(10), "quantity": 3}], financial_status="paid")
    (line,), _ = get_row_ids(order)
    edit_lines.edit_lines(order, OrderEdit({line: LineEdit(2)}), actor="staff:1", at=timezone.now())

    def refund(state: str) -> tuple[int, Decimal, Decimal]:
        refund_by_form(refund_client, order, {f"units-{line}-{state}": "1", f"restock-{line}-{state}": "no_restock"})
        order.refresh_from_db()
        return order.line_items.get().current_quantity, order.current_total_price, order.outstanding

    assert refund("gone") == (2, Decimal(20), Decimal(0))
    assert refund("unsent") == (1, Decimal(10), Decimal(0))


def test_removed_items_are_offered_after_a_refund_without_restocking(refund_client: Panel, shop: Shop) -> None:
    order = make_order(shop, lines=[{"title": "Mug", "price": Decimal(10), "quantity": 3}], financial_status="paid")
    (line,), _ = get_row_ids(order)
    edit_lines.edit_lines(order, OrderEdit({line: LineEdit(2)}), actor="staff:1", at=timezone.now())
    refund_by_form(refund_client, order, {f"units-{line}-unsent": "1", f"restock-{line}-unsent": "no_restock"})

    refund_by_form(refund_client, order, {f"units-{line}-gone": "1", f"restock-{line}-gone": "no_restock"})

    order.refresh_from_db()
    assert (order.line_items.get().current_quantity, order.current_total_price) == (1, Decimal(10))


def test_money_that_did_not_go_back_is_tried_again(refund_client: Panel, shop: Shop) -> None:
    order = create_bogus_order(shop, behavior="bogus:fail")
    (line,), (payment,) = get_row_ids(order)
    refund_by_form(refund_client, order, {f"units-{line}-unsent": "1"})
    run_refund_jobs(shop)
    failed = get_transaction(Refund.objects.get())
    page = refund_client.get(PAGE, order.pk)
    Transaction.objects.filter(pk=payment).update(authorization="")

    form = open_form(refund_client, order, again=str(failed.pk))
    response = refund_by_form(refund_client, order, form)
    run_refund_jobs(shop)

    assert find_missing(page, "Rejected", "The card was closed", f"?again={failed.pk}") == []
    assert form[f"payment-{payment}"] == ["20.00"]
    assert "Refund created: 20.00 USD." in get_text(response)
    after = get_text(refund_client.get(PAGE, order.pk))
    assert "Refunded" in after
    assert "?again=" not in after
    assert is_money_consistent()


def test_a_gateway_that_has_not_answered_is_asked_on_demand(refund_client: Panel, shop: Shop) -> None:
    order = create_bogus_order(shop, behavior="bogus:later")
    refund = refund_amount(order, "20.00")
    run_refund_jobs(shop)
    waiting = get_transaction(refund)
    page = get_text(refund_client.get(PAGE, order.pk))

    def ask() -> str:
        request = refund_client.forge("refunds_refund_ask", refund.pk, waiting.pk)
        return get_text(refund_client.http.get(request["Location"]))

    message = ask()
    run_refund_jobs(shop)

    assert "Check status with bogus" in page
    assert "Checking the refund with bogus" in message
    assert get_transaction(refund).status == "success"
    assert "has already responded" in ask()
    other = refund_amount(create_bogus_order(shop), "1.00")
    assert refund_client.forge("refunds_refund_ask", other.pk, waiting.pk).status_code == 404


def test_a_trial_shop_has_to_wait(refund_client: Panel, shop: Shop, time_machine: TimeMachineFixture) -> None:
    time_machine.move_to(timezone.now(), tick=False)
    Shop.objects.filter(pk=shop.pk).update(plan=Shop.Plan.TRIAL)
    order = make_order(shop, financial_status="paid")
    _, (payment,) = get_row_ids(order)
    answers = [refund_by_form(refund_client, order, {f"payment-{payment}": "1.00"}) for _ in range(6)]

    assert Refund.objects.count() == 5
    assert "Trial and development shops can create at most 5 refunds per minute. Try again in" in get_text(answers[-1])


def test_an_order_in_two_currencies_goes_back_in_both(refund_client: Panel, shop: Shop) -> None:
    amounts = {"USD": "5.00", "EUR": "13.50"}
    sales = [{"kind": "sale", "amount": Decimal(amount), "currency": name} for name, amount in amounts.items()]
    order = make_order(shop, presentment_currency="EUR", exchange_rate=Decimal("0.9"), transactions=sales)
    (line,), _ = get_row_ids(order)

    response = refund_by_form(refund_client, order, {f"units-{line}-unsent": "1"})

    assert "Refund created: 5.00 USD and 4.50 EUR." in get_text(response)


def test_staff_without_the_refund_permission_cannot_refund_through_an_app(
    admin_client_with: PanelWith, client_with: ClientWith, order: Order
) -> None:
    clerk = admin_client_with("orders", "edit_orders")
    page = get_text(clerk.get(PAGE, order.pk))
    refused = clerk.forge(NEW, order.pk, step="refund")

    installation = client_with("write_orders").installation
    token = issue_token(installation, actor="system", at=timezone.now(), user_id=clerk.user.pk)
    _, (payment,) = get_row_ids(order)
    body = {"refund": {"transactions": [{"parent_id": payment, "amount": "1.00"}]}}
    acting = ApiClient(token, installation)
    answers = [acting.post(f"orders/{order.pk}/{action}.json", body) for action in ("refunds", "cancel")]

    assert "Refund…" not in page
    assert [response.status_code for response in (refused, *answers)] == [403] * 3
    assert not Refund.objects.exists()


def test_the_list_and_the_page_of_a_refund(refund_client: Panel, order: Order) -> None:
    (line,), _ = get_row_ids(order)
    refund_by_form(refund_client, order, {f"units-{line}-unsent": "1", "reason": "customer", "note": "Sorry"})

    rows = refund_client.get("refunds_refund_changelist", q="#1001")
    page = refund_client.get("refunds_refund_change", Refund.objects.get().pk)

    assert find_missing(rows, "#1001", "10.00 USD", "Pending", "Goodwill", "Sorry") == []
    parts = ("1 × Mug - Blue, restocked at", "10.00 USD", "Goodwill", "Sorry", str(refund_client.user))
    assert find_missing(page, *parts) == []


ZERO = Decimal(0)


def build_duty(amount: str, tax: str = "", **details: str) -> Attrs:
    taxes = [{"title": "VAT", "rate": ZERO, "price": Decimal(tax)}] if tax else []
    return {"shop_money": {"amount": Decimal(amount)}, "tax_lines": taxes, **details}


CERAMICS = build_duty("10.00", "2.00", harmonized_system_code="6912.00", country_code_of_origin="PT")


def create_paid_order(shop: Shop, *duties: Attrs, **values: Any) -> Order:
    """Create a paid order of three mugs with duties and a card without duties."""
    lines = [
        {"title": "Mug", "price": Decimal("10.00"), "quantity": 3, "duties": list(duties)},
        {"title": "Card", "price": Decimal("1.00"), "quantity": 1},
    ]
    return make_order(shop, lines=lines, financial_status="paid", **values)


def get_field_names(order: Order) -> tuple[str, list[str]]:
    """Return the field names for the quantity and the duties of the mugs."""
    line = order.line_items.get(title="Mug")
    return f"units-{line.pk}-unsent", [f"duty-{single_duty['id']}" for single_duty in line.duties]


def get_refunded_duties() -> list[list[tuple[Decimal, Decimal]]]:
    """Return the refunded duties of each refund, with their taxes."""
    refunds = Refund.objects.order_by("pk")
    return [list(refund.duties.order_by("pk").values_list("amount", "tax")) for refund in refunds]


def test_a_full_refund_includes_the_duties(refund_client: Panel, shop: Shop) -> None:
    order = create_paid_order(shop, CERAMICS, build_duty("0.50"))
    _, keys = get_field_names(order)
    _, (payment,) = get_row_ids(order)

    form = open_form(refund_client, order, all="1")
    calculated = refund_client.http.post(refund_client.url(NEW, order.pk), {**form, "step": "calculate"})
    response = refund_by_form(refund_client, order, form)

    assert [form[key] for key in keys] == [["full"], ["full"]]
    assert calculated.context["suggestions"] == [(payment, "43.50")]
    assert find_missing(response, "Refund created: 43.50 USD.", "; duties 12.50 USD") == []
    assert get_refunded_duties() == [[(Decimal("10.00"), Decimal("2.00")), (Decimal("0.50"), ZERO)]]
    after = Order.objects.get(pk=order.pk)
    assert (after.current_total_price, after.current_total_duties, after.outstanding) == (ZERO, ZERO, ZERO)
    assert is_money_consistent()


def test_a_share_goes_back_with_units_and_the_rest_without(refund_client: Panel, shop: Shop) -> None:
    order = create_paid_order(shop, CERAMICS)
    units, (key,) = get_field_names(order)

    blank = open_form(refund_client, order)
    response = refund_client.post(CALCULATION, order.pk, **{units: "1", key: "proportional"})
    look = review_refund(refund_client, order, {units: "1", key: "proportional"})
    first = confirm_refund(refund_client, order, look)
    form = get_text(refund_client.get(NEW, order.pk))
    rest = review_refund(refund_client, order, {key: "full"})
    last = confirm_refund(refund_client, order, rest)

    assert blank[key] == [""]
    sums = {"Subtotal": "10.00", "Shipping": "0.00", "Duties": "3.33", "Tax": "0.67", "Total": "14.00"}
    assert dict(response.context["sums"]) == {name: f"{amount} USD" for name, amount in sums.items()}
    assert "4.00 USD of the duty on Mug (6912.00, from Portugal), including 0.67 USD tax." in get_text(look)
    assert "Refund created: 14.00 USD." in get_text(first)
    assert '8.00 USD <span class="bo-subtle">including 1.33 USD tax</span>' in form
    assert "8.00 USD of the duty on Mug (6912.00, from Portugal), including 1.33 USD" in get_text(rest)
    assert "Refund created: 8.00 USD." in get_text(last)
    assert get_refunded_duties() == [[(Decimal("3.33"), Decimal("0.67"))], [(Decimal("6.67"), Decimal("1.33"))]]
    assert 'id="duties"' not in get_text(refund_client.get(NEW, order.pk))
    assert is_money_consistent()


def test_duties_have_their_taxes_inside_where_prices_do(refund_client: Panel, shop: Shop) -> None:
    order = create_paid_order(shop, CERAMICS, taxes_included=True)
    _, (key,) = get_field_names(order)

    form = get_text(refund_client.get(NEW, order.pk))
    look = review_refund(refund_client, order, {key: "full"})
    response = confirm_refund(refund_client, order, look)

    assert '10.00 USD <span class="bo-subtle">including 2.00 USD tax</span>' in form
    assert "10.00 USD of the duty on Mug (6912.00, from Portugal), including 2.00 USD tax." in get_text(look)
    assert find_missing(response, "Refund created: 10.00 USD.", "duties 10.00 USD") == []


def test_a_share_needs_units_and_is_offered_while_there_are_some(refund_client: Panel, shop: Shop) -> None:
    order = create_paid_order(shop, CERAMICS)
    units, (key,) = get_field_names(order)
    reported_text = "Enter the quantity of the item to refund, or choose “Full refundable amount”."

    refused = review_refund(refund_client, order, {key: "proportional"})
    response = refund_client.post(CALCULATION, order.pk, **{key: "proportional"})
    unknown = review_refund(refund_client, order, {key: "half"})
    before = get_refunded_duties()
    refund_by_form(refund_client, order, {units: "3"})
    form = refund_client.get(NEW, order.pk).context["form"]

    assert refused.context["form"].errors == {key: [reported_text]}
    assert f"Refund for the duty on Mug (6912.00, from Portugal): {reported_text}" in get_text(response)
    assert "Select a valid choice" in get_text(unknown)
    assert before == []
    assert get_refunded_duties() == [[]]
    assert [value for value, _ in form.fields[key].choices] == ["", "full"]


def test_each_duty_of_a_line_has_a_name_of_its_own(refund_client: Panel, shop: Shop) -> None:
    order = create_paid_order(shop, build_duty("3.00"), build_duty("3.00"), CERAMICS)
    _, keys = get_field_names(order)

    page = refund_client.get(NEW, order.pk)
    look = review_refund(refund_client, order, {keys[1]: "full"})

    names = zip(keys, ("1 of 3", "2 of 3", "3 of 3, 6912.00, from Portugal"), strict=True)
    labels = (f'for="id_{key}">Refund for the duty on Mug ({name})</label>' for key, name in names)
    assert find_missing(page, *labels) == []
    assert "3.00 USD of the duty on Mug (2 of 3)." in get_text(look)


def test_an_order_without_duties_says_nothing_of_them(refund_client: Panel, shop: Shop) -> None:
    order = make_order(shop, financial_status="paid")
    (line,), _ = get_row_ids(order)

    page = refund_client.get(NEW, order.pk)
    response = refund_client.post(CALCULATION, order.pk, **{f"units-{line}-unsent": "1"})
    look = review_refund(refund_client, order, {f"units-{line}-unsent": "1"})
    finished_response = confirm_refund(refund_client, order, look)

    for result in (page, response, look):
        assert "Duties" not in get_text(result)
    assert "; duties" not in get_text(finished_response)


def test_a_duty_refunded_by_another_user_is_reviewed_again(refund_client: Panel, shop: Shop) -> None:
    order = create_paid_order(shop, CERAMICS)
    units, (key,) = get_field_names(order)
    _, (payment,) = get_row_ids(order)
    typed = {units: "1", key: "full", f"payment-{payment}": "5.00"}
    look = review_refund(refund_client, order, typed)
    refund_by_form(refund_client, order, {key: "full"})

    refused = confirm_refund(refund_client, order, look)

    assert "The order has changed." in get_text(refused)
    assert "of the duty on Mug" in get_text(look)
    assert "of the duty on Mug" not in get_text(refused)
    assert len(get_refunded_duties()) == 1


def test_a_choice_is_kept_on_the_way_back_from_the_second_look(refund_client: Panel, shop: Shop) -> None:
    order = create_paid_order(shop, CERAMICS)
    units, (key,) = get_field_names(order)
    look = review_refund(refund_client, order, {units: "2", key: "proportional"})
    data = get_form(look.content, "seen").data

    edited = refund_client.http.post(refund_client.url(NEW, order.pk), {**data, "step": "edit"})

    assert (data[units], data[key]) == (["2"], ["proportional"])
    assert edited.context["form"][key].value() == "proportional"
    assert dict(edited.context["sums"])["Duties"] == "6.67 USD"


CANCEL = "orders_order_cancel"


def send_form(panel: Panel, order: Order, page: Response, **typed: str) -> Response:
    data = {**get_form(page.content, "reason", "form_key").data, **typed}
    return panel.http.post(panel.url(CANCEL, order.pk), data, follow=True)


@pytest.fixture
def cancel_client(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("orders", "edit_orders", "refund_orders")


def test_a_cancellation_gives_money_back_after_a_second_look(cancel_client: Panel, shop: Shop) -> None:
    order = make_order(shop, financial_status="paid")

    look = send_form(
        cancel_client, order, cancel_client.get(CANCEL, order.pk), amount="15.00", reason="fraud", step="cancel"
    )
    assert not Refund.objects.exists()
    result = send_form(cancel_client, order, look, step="cancel")

    assert "Cancel order and refund 15.00 USD" in get_text(look)
    assert "was canceled and 15.00 USD was refunded." in get_text(result)
    refund, after = Refund.objects.get(), Order.objects.get(pk=order.pk)
    assert get_transaction(refund).amount == 15
    assert (after.status, after.cancel_reason, after.total_refunded) == ("cancelled", "fraud", Decimal(15))
    assert is_money_consistent()


def test_money_stays_if_it_is_refunded_later_or_without_the_permission(
    order_client: Panel, cancel_client: Panel, shop: Shop
) -> None:
    orders = [make_order(shop, financial_status="paid") for _ in range(2)]

    pages = [panel.get(CANCEL, order.pk) for panel, order in zip((order_client, cancel_client), orders, strict=True)]
    send_form(order_client, orders[0], pages[0], amount="15.00", step="cancel")
    send_form(cancel_client, orders[1], pages[1], refund_now="no", named_refund="", step="cancel")

    assert ["amount" in get_form(page.content, "reason", "form_key").names for page in pages] == [False, True]
    assert [row.status for row in Order.objects.all()] == ["cancelled", "cancelled"]
    assert not Refund.objects.exists()


def test_the_summary_of_a_cancellation_follows_the_entered_refund(cancel_client: Panel, shop: Shop) -> None:
    order = make_order(shop, financial_status="paid")

    page = cancel_client.get(CANCEL, order.pk)
    data = {"reason": "other", "refund_now": "yes", "currency": "USD", "step": "summary"}
    entered = cancel_client.post("orders_order_cancel_summary", order.pk, **data, amount="12.50")
    later = cancel_client.post("orders_order_cancel_summary", order.pk, **data | {"refund_now": "no"})
    wrong = cancel_client.post("orders_order_cancel_summary", order.pk, **data, amount="99.00")

    assert get_payments(page)[2:] == ["This refund 20.00 USD", "Net payment 0.00 USD"]
    assert get_payments(entered)[2:] == ["This refund 12.50 USD", "Net payment 7.50 USD"]
    assert get_payments(later)[2:] == ["This refund 0.00 USD", "Net payment 20.00 USD"]
    assert get_payments(wrong) == ["Paid 20.00 USD", "Refunded so far 0.00 USD"]
    assert Order.objects.get().status == "open"


def test_all_money_is_refunded_by_default(cancel_client: Panel, shop: Shop) -> None:
    order = make_order(shop, financial_status="paid")

    page = cancel_client.get(CANCEL, order.pk)
    blank = send_form(cancel_client, order, page, step="cancel", amount="")
    send_form(cancel_client, order, page, step="cancel")

    assert "Cancel order and refund 20.00 USD" in get_text(page)
    assert "Enter the amount, or select “Refund later”." in get_text(blank)
    assert get_transaction(Refund.objects.get()).amount == 20
    assert Order.objects.get().outstanding == 0


def test_amounts_owed_to_customers_are_shown_until_the_refund(cancel_client: Panel, shop: Shop) -> None:
    order = make_order(shop, financial_status="paid")
    make_order(shop, financial_status="paid")
    send_form(
        cancel_client, order, cancel_client.get(CANCEL, order.pk), refund_now="no", named_refund="", step="cancel"
    )

    def describe() -> tuple[list[str], bool, bool, bool]:
        listed = cancel_client.get("orders_order_changelist", view="owed").context["cl"].result_list
        page = get_text(cancel_client.get("orders_order_change", order.pk))
        home = get_text(cancel_client.http.get(cancel_client.url("index")))
        return (
            [row.name for row in listed],
            "Refund 20.00 USD…" in page,
            "Owed to the customer" in page,
            "Refunds due" in home,
        )

    before = describe()
    refund_amount(order, "20.00")

    assert before == ([order.name], True, True, True)
    assert describe() == ([], False, False, False)


def test_refunds_and_returns_are_offered_by_state(cancel_client: Panel, shop: Shop) -> None:
    unpaid, paid = make_order(shop), make_order(shop, financial_status="paid")
    fulfilled = make_order(shop)
    Order.objects.filter(pk=fulfilled.pk).update(fulfillment_status="partial")
    pages = [get_text(cancel_client.get("orders_order_change", order.pk)) for order in (unpaid, paid, fulfilled)]

    links = [[label for label in ("Refund…", "Return items…") if label in page] for page in pages]

    assert links == [[], ["Refund…"], ["Return items…"]]


def test_an_amount_that_cannot_go_back_is_refused(cancel_client: Panel, shop: Shop) -> None:
    order = make_order(shop, transactions=[{"kind": "sale", "amount": Decimal("20.00")}])

    more = send_form(cancel_client, order, cancel_client.get(CANCEL, order.pk), amount="20.01", step="cancel")
    small = send_form(cancel_client, order, more, amount="1.001", step="cancel")

    assert "Enter at most 20.00 USD." in get_text(more)
    assert "This amount has too many decimal places for USD." in get_text(small)
    assert Order.objects.get().status == "open"
