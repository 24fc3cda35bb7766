"""The form of draft orders: stored values that it does not show, malformed values, and the number of queries."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.draft_orders.models import DraftOrder
from apps.gift_cards.domain.gift_cards import adjust_balance, create_gift_card
from apps.gift_cards.models import GiftCard
from tests.support.api_client import Response
from tests.support.factories.catalog import make_product
from tests.support.factories.customers import make_customer
from tests.support.factories.draft_orders import complete, make_draft_order
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.html_forms import get_form

pytestmark = pytest.mark.usefixtures("in_shop")

LIST, ADD, CHANGE = (f"draft_orders_draftorder_{name}" for name in ("changelist", "add", "change"))
CARDS, CARD = "gift_cards_giftcard_changelist", "gift_cards_giftcard_change"


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("draft_orders", "orders", "gift_cards", "customers")


def send_form(panel: Panel, draft: DraftOrder, **values: str) -> Response:
    page = panel.get(CHANGE, draft.pk)
    data = {name: row[-1] for name, row in get_form(page.content, "last").data.items()}
    return panel.http.post(panel.url(CHANGE, draft.pk), data | values)


def make_priced_draft() -> DraftOrder:
    discount = {"title": "VIP", "description": "Agreed by phone", "value_type": "percentage", "value": "10"}
    return make_draft_order(
        [{"title": "Engraving", "price": Decimal(20), "applied_discount": discount}],
        applied_discount=discount,
        shipping_line={"title": "Parcel", "price": Decimal(5), "handle": "parcel-1"},
    )


def get_hidden_values(draft: DraftOrder) -> list[object]:
    draft.refresh_from_db()
    line = draft.line_items.get()
    assert draft.applied_discount
    assert draft.shipping_line
    assert line.applied_discount
    return [draft.applied_discount["description"], line.applied_discount["description"], draft.shipping_line["handle"]]


def test_a_new_order_begins_with_the_customer_of_the_link(panel: Panel, admin_client_with: PanelWith) -> None:
    customer = make_customer(email="ada@example.com")

    def get_email(panel: Panel, number: object) -> list[str]:
        return get_form(panel.get(ADD, customer=str(number)).content, "last").data.get("email", [])

    assert get_email(panel, customer.pk) == ["ada@example.com"]
    assert get_email(panel, "x") == get_email(panel, 10**15) == [""]
    assert get_email(admin_client_with("draft_orders"), customer.pk) == [""]


def test_a_new_order_belongs_to_orders_and_a_draft_to_drafts(panel: Panel, admin_client_with: PanelWith) -> None:
    orders, drafts = panel.url("orders_order_changelist"), panel.url(LIST)
    draft = make_priced_draft()

    links = [page.context["heading_link"] for page in (panel.get(ADD), panel.get(CHANGE, draft.pk))]

    assert links == [orders, drafts]
    assert admin_client_with("draft_orders").get(ADD).context["heading_link"] == drafts


def test_saving_keeps_values_that_the_form_does_not_show(panel: Panel) -> None:
    draft = make_priced_draft()

    send_form(panel, draft, note="Ring twice", step="save")

    assert get_hidden_values(draft) == ["Agreed by phone", "Agreed by phone", "parcel-1"]
    assert draft.note == "Ring twice"


def test_new_titles_replace_values_that_the_form_does_not_show(panel: Panel) -> None:
    draft = make_priced_draft()
    titles = {"discount_reason": "Loyal", "line-0-discount_reason": "Damaged", "shipping_title": "Express"}

    send_form(panel, draft, **titles, step="save")

    assert get_hidden_values(draft) == ["Loyal", "Damaged", None]


@pytest.mark.parametrize(
    "values",
    [
        {"last": "x", "line-x-quantity": "1", "code": "5", "step": "find"},
        {"line-0-variant": "9" * 5000, "line-0-quantity": "1", "step": "calculate"},
        {"add": "9" * 5000},
        {"remove": "9" * 5000},
        {"choose": "0"},
        {"customer": "9" * 30, "step": "save"},
    ],
)
def test_malformed_values_change_nothing(panel: Panel, values: Mapping[str, str]) -> None:
    draft = make_draft_order()

    assert send_form(panel, draft, **values).status_code == 200

    assert DraftOrder.objects.get().version == draft.version


def test_unknown_views_show_the_default_view(panel: Panel) -> None:
    draft = make_draft_order()
    complete(make_draft_order())

    assert [row.pk for row in panel.get(LIST, view="unknown").context["cl"].result_list] == [draft.pk]


def test_searches_for_emails_ignore_case(panel: Panel) -> None:
    draft = make_draft_order(email="Ada@Example.com")
    make_draft_order(email="grace@example.com")

    assert [row.pk for row in panel.get(LIST, q="ada@example.com").context["cl"].result_list] == [draft.pk]


def test_an_invalid_sender_of_invoices_is_shown(panel: Panel) -> None:
    draft = make_draft_order(email="ada@example.com")
    Shop.objects.filter(pk=draft.shop_id).update(customer_email="no address")

    answer = panel.forge("draft_orders_draftorder_invoice", draft.pk, to="ada@example.com", subject="Invoice")

    assert answer.context["form"].non_field_errors() == ["From is invalid."]
    assert "From is invalid." in answer.content.decode()
    assert DraftOrder.objects.get().status == "open"


def count_queries(panel: Panel, name: str, *args: object) -> int:
    panel.get(name, *args)
    with CaptureQueriesContext(connection) as queries:
        panel.get(name, *args)
    return len(queries)


def test_pages_of_drafts_need_as_many_queries_for_many_lines(panel: Panel) -> None:
    variants = [make_product(f"Product {number}").variants.get() for number in range(25)]
    few, many = (make_draft_order([{"variant_id": row.pk} for row in rows]) for rows in (variants[:1], variants))
    assert count_queries(panel, CHANGE, many.pk) == count_queries(panel, CHANGE, few.pk)

    complete(few)
    complete(many)
    assert count_queries(panel, CHANGE, many.pk) == count_queries(panel, CHANGE, few.pk)


def test_lists_need_as_many_queries_for_many_rows(panel: Panel) -> None:
    def add(number: int) -> GiftCard:
        customer = make_customer(email=f"ada{number}@example.com")
        make_draft_order(customer_id=customer.pk)
        attrs = {"initial_value": Decimal(50), "customer_id": customer.pk}
        return create_gift_card(attrs, app=None, actor="system", at=timezone.now())[0]

    card = add(0)
    adjust_balance(card, {"amount": Decimal(1)}, app=None, actor="staff:17", at=timezone.now())
    pages: list[tuple[Any, ...]] = [(LIST,), (CARDS,), (CARD, card.pk)]
    few = [count_queries(panel, *page) for page in pages]
    for number in range(1, 25):
        add(number)
        adjust_balance(card, {"amount": Decimal(1)}, app=None, actor="staff:17", at=timezone.now())

    assert [count_queries(panel, *page) for page in pages] == few
