"""The totals on the page that creates an order are those of the draft order and the order that it saves."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.discounts.domain.price_rules import update_price_rule
from apps.discounts.models import DiscountCode, PriceRule
from apps.draft_orders.models import DraftOrder
from apps.orders.models import Order
from apps.shops.domain import shop_countries
from apps.shops.models import ShopCountry
from tests.support.api_client import Response
from tests.support.factories.catalog import make_product
from tests.support.factories.customers import make_customer
from tests.support.factories.discounts import make_code, make_rule
from tests.support.factories.draft_orders import complete, make_draft_order
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.html_forms import get_form
from tests.support.panel.pages import get_messages

pytestmark = pytest.mark.usefixtures("in_shop")

ADD, CHANGE, DUPLICATE, FROM = (
    f"draft_orders_draftorder_{name}" for name in ("add", "change", "duplicate", "from_order")
)
LINE = {"title": "Engraving", "price": Decimal("100.00"), "quantity": 1}
# As apps send it: the form has more fields.
ADDRESS = {"first_name": "Ada", "last_name": "Byron", "address1": "1 Main Street", "city": "Bonn", "country_code": "DE"}
FORM_LINE = {"line-0-title": "Engraving", "line-0-price": "100.00", "line-0-quantity": "1", "line-0-taxable": "on"}


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("draft_orders", "orders", "customers")


@pytest.fixture(autouse=True)
def _taxes(in_shop: Shop) -> None:
    in_shop.country_code = "DE"
    in_shop.save()
    set_tax("0.10")


def set_tax(rate: str) -> None:
    if not ShopCountry.objects.filter(code="DE").update(tax=Decimal(rate)):
        shop_countries.create_country({"code": "DE", "tax": Decimal(rate)}, actor="system", at=timezone.now())


def end_discounts() -> None:
    for rule in PriceRule.objects.all():
        change_rule(rule, ends_at=timezone.now() - timedelta(hours=1))


def change_rule(rule: PriceRule, **values: object) -> None:
    update_price_rule(rule, values, actor="system", at=timezone.now())


def add_code() -> None:
    make_code("X, Y", make_rule("-50"))


def send(panel: Panel, opened: Response, **values: object) -> Response:
    data = {name: row[-1] for name, row in get_form(opened.content, "last").data.items()}
    return panel.http.post(opened.request["PATH_INFO"], data | values)


def get_total(page: Response) -> str:
    assert page.context["state"].errors == []
    return str(page.context["total"])


def use_code(code: str = "TEN") -> Attrs:
    make_code(code, make_rule("-10"))
    return {"discount_codes": [code]}


@pytest.mark.parametrize(
    ("prepare", "change"),
    [
        (dict, lambda: set_tax("0.20")),
        (use_code, end_discounts),
        (use_code, lambda: change_rule(PriceRule.objects.get(), value=Decimal(-50))),
        (use_code, lambda: DiscountCode.objects.all().delete()),
        (lambda: {"customer_id": make_customer(email="ada@example.com").pk}, lambda: set_tax("0.20")),
        (lambda: {"email": "new@example.com"}, lambda: set_tax("0.20")),
        (lambda: {"email": make_customer(email="ada@example.com", tax_exempt=True).email}, dict),
        (lambda: {"shipping_address": ADDRESS}, lambda: set_tax("0.20")),
        (lambda: {"shipping_address": ADDRESS, "billing_address": ADDRESS}, lambda: set_tax("0.20")),
        (lambda: {"applied_discount": {"value": "5", "title": " VIP "}}, lambda: set_tax("0.20")),
        (lambda: {"shipping_line": {"title": " Post ", "price": Decimal(5)}}, lambda: set_tax("0.20")),
        (lambda: {"discount_codes": [make_code(name, make_rule("-10")).code for name in ("X", "Y")]}, add_code),
        (lambda: use_code("p0,p1, p2,p3,p4,p5,p6,p7,p8,p9,p10,p11,p12,p13"), lambda: set_tax("0.20")),
    ],
    ids=[
        *("taxes", "expired", "value", "deleted", "customer", "email", "exempt email", "address", "addresses"),
        *("discount title", "shipping title", "ambiguous codes", "code with commas"),
    ],
)
@pytest.mark.parametrize("step", ["save", "pending"])
def test_an_unchanged_draft_shows_and_keeps_the_amounts_of_its_invoice(
    panel: Panel, prepare: Callable[[], Attrs], change: Callable[[], object], step: str
) -> None:
    variant = make_product("Mug", prices=("12.00",)).variants.get()
    lines = [
        {"variant_id": variant.pk, "quantity": 2, "applied_discount": {"value": "1", "title": " a\nb "}},
        {**LINE, "title": " Gift\nwrap ", "price": Decimal(7)},
    ]
    draft = make_draft_order(lines, **prepare())
    invoiced = draft.total_price
    change()

    opened = panel.get(CHANGE, draft.pk)
    saved = send(panel, opened, step=step, note="Ring twice")

    assert get_total(opened) == opened.context["stored_total"] == f"{invoiced} USD"
    if step == "save":
        assert saved.status_code == 302, saved.context["state"].form.errors
    assert {row.total_price for row in (*DraftOrder.objects.all(), *Order.objects.all())} == {invoiced}


@pytest.mark.parametrize("step", ["save", "pending"])
def test_a_changed_draft_shows_the_new_total_before_it_is_saved(panel: Panel, step: str) -> None:
    draft = make_draft_order([LINE])
    set_tax("0.20")

    page = send(panel, panel.get(CHANGE, draft.pk), step="calculate", **{"line-0-quantity": "2"})
    send(panel, page, step=step)

    assert get_total(page) == "240.00 USD"
    assert {row.total_price for row in (*DraftOrder.objects.all(), *Order.objects.all())} == {Decimal(240)}


@pytest.mark.parametrize("contact", [{"first_name": "Grace"}, {"email": "grace@example.com"}], ids=str)
@pytest.mark.parametrize("email", ["", "ada@example.com"])
@pytest.mark.parametrize("step", ["save", "pending"])
def test_a_new_customer_of_a_draft_is_in_its_total(
    panel: Panel, contact: dict[str, str], email: str, step: str
) -> None:
    draft = make_draft_order([LINE], email=email)
    set_tax("0.20")

    page = send(panel, panel.get(CHANGE, draft.pk), step="calculate", **contact)
    send(panel, page, step=step)

    assert get_total(page) == "120.00 USD"
    assert {row.total_price for row in (*DraftOrder.objects.all(), *Order.objects.all())} == {Decimal(120)}


def test_an_address_may_be_a_country(panel: Panel) -> None:
    draft = make_draft_order([LINE], shipping_address={"country_code": "DE"})

    page = send(panel, panel.get(CHANGE, draft.pk), step="calculate", shipping_country_code="AQ")
    send(panel, page, step="save")

    draft.refresh_from_db()
    assert draft.shipping_address is not None
    assert (draft.shipping_address["country_code"], get_total(page)) == ("AQ", "100.00 USD")


def test_a_stored_line_that_the_form_refuses_does_not_hide_the_totals(panel: Panel) -> None:
    draft = make_draft_order([LINE, {**LINE, "title": "Gift wrap"}])
    draft.line_items.filter(title="Gift wrap").update(title=" ")

    opened = panel.get(CHANGE, draft.pk)
    refused = send(panel, opened, step="save", note="Ring twice")

    assert get_total(opened) == "220.00 USD"
    assert [line.errors for line in refused.context["state"].lines] == [{}, {"title": ["Enter a title."]}]


def test_fields_that_the_form_does_not_show_keep_their_values(panel: Panel) -> None:
    shipping = {"title": " Post\nStation ", "price": Decimal(5), "handle": "post-1"}
    share = str(Decimal(100) / 3)
    discount = {"title": " VIP\n1 ", "description": "Agreed", "value_type": "percentage", "value": share}
    draft = make_draft_order([LINE], shipping_line=shipping, applied_discount=discount)

    page = panel.get(CHANGE, draft.pk)
    texts = {"shipping_title": "PostStation", "discount_reason": "VIP1"}  # as browsers send them
    unchanged = send(panel, page, step="save", **texts, note="Ring twice")
    kept = DraftOrder.objects.get().applied_discount
    send(panel, panel.get(CHANGE, draft.pk), step="save", **texts, shipping_price="6.00", discount="20")

    draft.refresh_from_db()
    assert unchanged.status_code == 302
    assert kept is not None
    assert kept == {**kept, **discount}
    assert draft.shipping_line is not None
    assert draft.applied_discount is not None
    assert (draft.shipping_line["handle"], draft.applied_discount["description"]) == ("post-1", "Agreed")


def test_a_changed_draft_is_calculated_for_the_customer_with_its_email(panel: Panel) -> None:
    draft = make_draft_order([LINE], email=make_customer(email="ada@example.com", tax_exempt=True).email)

    page = send(panel, panel.get(CHANGE, draft.pk), step="calculate", **{"line-0-quantity": "2"})
    send(panel, page, step="pending")

    assert draft.total_price == Decimal(110)
    assert get_total(page) == "200.00 USD"
    assert Order.objects.get().total_price == Decimal(200)


@pytest.mark.parametrize("phone", ["+4930123456", "abc"])
def test_a_phone_number_that_would_be_lost_is_refused(panel: Panel, phone: str) -> None:
    page = send(panel, panel.get(ADD), step="pending", **FORM_LINE, phone=phone)

    assert "Customer must have a name or email address." in page.context["state"].errors
    assert not Order.objects.exists()


@pytest.mark.parametrize(
    ("contact", "total"),
    [
        ({"email": "ADA@example.com"}, "100.00"),
        ({"phone": "+4930123456"}, "100.00"),
        ({"email": "grace@example.com"}, "110.00"),
        ({"first_name": "Grace"}, "110.00"),
    ],
    ids=["email", "phone", "new email", "name"],
)
def test_totals_are_those_of_the_customer_who_has_the_contact_details(
    panel: Panel, contact: dict[str, str], total: str
) -> None:
    make_customer(email="ada@example.com", phone="+4930123456", tax_exempt=True)

    page = send(panel, panel.get(ADD), step="calculate", **FORM_LINE, **contact)
    send(panel, page, step="pending")

    assert get_total(page) == f"{total} USD"
    assert Order.objects.get().total_price == Decimal(total)


def test_discounts_for_selected_customers_apply_to_their_contact_details(panel: Panel) -> None:
    ada = make_customer(email="ada@example.com")
    make_code("VIP", make_rule("-50", customer_selection="prerequisite", prerequisite_customer_ids=[ada.pk]))

    page = send(panel, panel.get(ADD), step="calculate", **FORM_LINE, discount_codes="vip", email=ada.email)
    other = send(panel, panel.get(ADD), step="calculate", **FORM_LINE, discount_codes="vip", email="x@example.com")

    assert get_total(page) == "55.00 USD"
    assert other.context["state"].form.errors["discount_codes"] == ["vip: The discount is only for selected customers."]


@pytest.mark.parametrize("text", ["2 for 1, mugs", "2 for 1,mugs", "TEN, 2 FOR 1, mugs", "2 for 1, mugs,ten"])
def test_codes_may_have_commas(panel: Panel, text: str) -> None:
    make_code("2 for 1, mugs", make_rule("-10"))
    make_code("TEN", make_rule("-10"))

    send(panel, panel.get(ADD), step="save", **FORM_LINE, discount_codes=text)
    draft = DraftOrder.objects.get()
    DiscountCode.objects.all().delete()
    send(panel, panel.get(CHANGE, draft.pk), step="save", note="Ring twice")

    draft.refresh_from_db()
    assert [len(draft.discount_codes), draft.note] == [text.count(",") or 1, "Ring twice"]
    assert "mugs" in str(draft.discount_codes)


def test_copies_leave_out_codes_that_do_not_apply(panel: Panel) -> None:
    ada = make_customer(email="ada@example.com")
    make_code("ONCE", make_rule("-50", once_per_customer=True))
    make_code("VIP", make_rule("-10", customer_selection="prerequisite", prerequisite_customer_ids=[ada.pk]))
    draft = complete(make_draft_order([LINE], customer_id=ada.pk, email=ada.email, discount_codes=["ONCE", "VIP"]))

    pages = []
    for values in ({}, {"for_another": "1"}):
        panel.forge(DUPLICATE, draft.pk, **values)
        pages.append(panel.get(CHANGE, DraftOrder.objects.latest("pk").pk))

    copies = DraftOrder.objects.filter(status="open").order_by("pk")
    assert [copy.discount_codes for copy in copies] == [["VIP"], ["ONCE"]]
    assert [copy.customer for copy in copies] == [ada, None]
    for page, reason in zip(
        pages,
        ("ONCE: The customer has already used this discount.", "VIP: The discount is only for selected customers."),
        strict=True,
    ):
        assert f"A discount code was left out. {reason}" in get_messages(page)


def test_a_copy_is_in_the_shop_currency_if_its_currency_was_removed(panel: Panel, in_shop: Shop) -> None:
    in_shop.presentment_currencies = [{"currency": "EUR", "rate": "0.9", "rounding": ""}]
    in_shop.save()
    draft = make_draft_order([LINE], presentment_currency="EUR")
    in_shop.presentment_currencies = []
    in_shop.save()

    panel.forge(DUPLICATE, draft.pk)

    copy = DraftOrder.objects.latest("pk")
    assert copy.presentment_currency == "USD"
    text = "The copy is in USD, because the shop no longer sells in EUR."
    assert text in get_messages(panel.get(CHANGE, copy.pk))


def test_an_order_is_duplicated_without_items_that_an_edit_removed(panel: Panel) -> None:
    order = make_order(lines=[{**LINE, "title": title, "quantity": 3} for title in ("Mug", "Cup", "Bowl")])
    mug, cup, _bowl = order.line_items.order_by("pk")
    for line, quantity in ((mug, 1), (cup, 0)):
        line.current_quantity = line.fulfillable_quantity = quantity
        line.save()

    panel.forge(FROM, order.pk)

    assert list(DraftOrder.objects.get().line_items.values_list("title", "quantity")) == [("Mug", 1), ("Bowl", 3)]
