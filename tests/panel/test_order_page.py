"""The top of the order page: the next step in each state of an order, the other actions, and the amounts."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.catalog.models import Variant
from apps.core.tenancy.models import Shop, User
from apps.fulfillment.models import FulfillmentOrder
from apps.orders.domain import transitions
from apps.orders.domain.edit_lines import LineEdit, OrderEdit, edit_lines
from apps.orders.models import Order
from tests.support import factories
from tests.support.factories.catalog import make_image, make_product
from tests.support.factories.fulfillment import make_fulfillment, make_fulfillment_order, make_service, set_status
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith

pytestmark = pytest.mark.usefixtures("in_shop")

PAGE = "orders_order_change"
CARD, PAID = "Pay with gift card…", "Mark 20.00 USD as paid"
SLIP, RETURN_SLIP, INVOICE = "Packing slip (PDF)", "Return slip (PDF)", "Issue invoice"
SALE = {"kind": "sale", "amount": Decimal("20.00")}


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("orders", "edit_orders", "refund_orders", "customers", "products")


def route(**values: Any) -> FulfillmentOrder:
    return make_fulfillment_order(**{"transactions": [SALE], **values})


def build_unpaid() -> Order:
    return route(transactions=[]).order


def build_authorized() -> Order:
    return route(transactions=[], financial_status="authorized").order


def build_paid() -> Order:
    return route().order


def build_on_hold() -> Order:
    row = route()
    set_status(row, "on_hold", "unsubmitted")
    return row.order


def build_unrouted() -> Order:
    return make_order(transactions=[SALE])


def build_fulfilled(count: int = 2, **values: Any) -> Order:
    row = route(**values)
    return make_fulfillment(row, lines=[{"id": row.lines.get().pk, "quantity": count}]).order


def build_partly_fulfilled() -> Order:
    return build_fulfilled(1)


def build_fulfilled_and_unpaid() -> Order:
    return build_fulfilled(transactions=[])


def build_fulfilled_and_owed() -> Order:
    """Return a paid order from which the only unfulfilled item was removed."""
    order = build_fulfilled(1)
    edit = OrderEdit({order.line_items.get().pk: LineEdit(1)})
    return edit_lines(order, edit, actor="system", at=timezone.now()).order


def build_canceled() -> Order:
    return transitions.cancel_order(build_unpaid(), actor="system", at=timezone.now())


def build_canceled_and_owed() -> Order:
    return transitions.cancel_order(build_paid(), actor="system", at=timezone.now())


def build_canceled_without_restock() -> Order:
    return transitions.cancel_order(build_paid(), actor="system", at=timezone.now(), restock=False)


def build_closed() -> Order:
    return transitions.close_order(build_fulfilled(), actor="system", at=timezone.now())


def build_closed_and_unpaid() -> Order:
    return transitions.close_order(build_unpaid(), actor="system", at=timezone.now())


def get_labels(panel: Panel, order: Order) -> tuple[str, list[str], list[str]]:
    """Return the labels of the next step, of the other buttons, and of the menu except those of every order."""
    context = panel.get(PAGE, order.pk).context
    step, buttons, menu = (context[name] for name in ("next_step", "buttons", "menu"))
    menu_labels = [str(action.label) for action in menu]
    assert menu_labels[-1] == "Delete…"
    assert {"View status page", "Edit…"} <= set(menu_labels)
    assert {SLIP in menu_labels, INVOICE in menu_labels} == {order.cancelled_at is None}
    assert (RETURN_SLIP in menu_labels) is (order.fulfillment_status in {"fulfilled", "partial"})
    usual = {INVOICE, SLIP, RETURN_SLIP, "View status page", "Edit…", "Delete…"}
    rare = [label for label in menu_labels if label not in usual]
    return str(step.label) if step else "", [str(action.label) for action in buttons], rare


@pytest.mark.parametrize(
    ("build", "step", "buttons", "menu"),
    [
        (build_unpaid, PAID, ["Fulfill items…"], [CARD, "Close order", "Cancel order…"]),
        (build_authorized, "Capture payment", ["Fulfill items…"], ["Close order", "Cancel order…"]),
        (build_paid, "Fulfill items…", ["Refund…"], ["Close order", "Cancel order…"]),
        (build_on_hold, "Release hold…", ["Refund…"], ["Close order", "Cancel order…"]),
        (build_unrouted, "", ["Refund…"], ["Close order", "Cancel order…"]),
        (build_partly_fulfilled, "Fulfill items…", ["Refund…"], ["Close order"]),
        (build_fulfilled, "Close order", ["Refund…"], []),
        (build_fulfilled_and_unpaid, PAID, [], [CARD, "Return items…", "Close order"]),
        (build_fulfilled_and_owed, "Refund 10.00 USD…", [], ["Close order"]),
        (build_canceled, "", [], []),
        (build_canceled_and_owed, "Refund 20.00 USD…", [], []),
        (build_closed, "", ["Refund…"], ["Reopen order"]),
        (
            build_closed_and_unpaid,
            "",
            ["Fulfill items…"],
            [PAID, CARD, "Reopen order", "Cancel order…"],
        ),
    ],
)
def test_the_next_step_depends_on_the_state_of_the_order(
    panel: Panel, build: Callable[[], Order], step: str, buttons: list[str], menu: list[str]
) -> None:
    assert get_labels(panel, build()) == (step, buttons, menu)


def test_a_service_is_asked_to_fulfill_before_anything_is_fulfilled(panel: Panel, shop: Shop) -> None:
    service = make_service(factories.make_installation(shop, ()).app)
    order = route(service=service).order

    step, buttons, _menu = get_labels(panel, order)

    assert (step, buttons) == ("Request fulfillment…", ["Refund…"])


def test_a_requested_cancellation_is_answered_first(panel: Panel, shop: Shop) -> None:
    row = route(service=make_service(factories.make_installation(shop, ()).app))
    set_status(row, "in_progress", "cancellation_requested")

    step, buttons, menu = get_labels(panel, row.order)

    assert (step, buttons) == ("Accept cancellation…", ["Refund…"])
    assert "Fulfill items…" in menu


def test_staff_are_only_offered_what_they_may_do(admin_client_with: PanelWith) -> None:
    order = build_paid()

    context = admin_client_with("orders").get(PAGE, order.pk).context

    assert (context["next_step"], context["buttons"]) == (None, [])
    assert [action.label for action in context["menu"]] == [SLIP, "View status page"]


def test_the_next_step_is_the_first_link_of_the_page(panel: Panel) -> None:
    order = build_paid()

    html = panel.get(PAGE, order.pk).content.decode()

    content = html[html.index('id="content"') :]
    link = re.search(r"<a [^>]*href=\"([^\"]*)\"[^>]*>([^<]*)</a>", content)
    assert link
    assert link.groups() == (panel.url("fulfillment_fulfillmentorder_fulfill", order.pk), "Fulfill items…")


@pytest.mark.parametrize(
    ("build", "texts"),
    [
        (build_unpaid, ["Total", "20.00 USD", "Owed by the customer", "20.00 USD"]),
        (build_paid, ["Total", "20.00 USD", "Balance", "Nothing is owed"]),
        (build_canceled, ["Total", "20.00 USD, now 0.00 USD", "Balance", "Nothing is owed"]),
        (build_canceled_and_owed, ["Total", "20.00 USD, now 0.00 USD", "Owed to the customer", "20.00 USD"]),
        (build_canceled_without_restock, ["Total", "20.00 USD", "Not refunded", "20.00 USD"]),
        (build_fulfilled_and_owed, ["Total", "20.00 USD, now 10.00 USD", "Owed to the customer", "10.00 USD"]),
    ],
)
def test_the_top_of_the_page_shows_the_total_and_what_is_owed(
    panel: Panel, build: Callable[[], Order], texts: list[str]
) -> None:
    html = panel.get(PAGE, build().pk).content.decode()

    sums = html[html.index('<dl class="bo-head-sums">') :].partition("</dl>")[0]
    found = [" ".join(text.split()) for text in re.findall(r">([^<]+)<", sums)]
    assert [text for text in found if text] == texts


@pytest.mark.parametrize(
    ("build", "kinds"),
    [
        (build_unpaid, ["warning", "warning"]),
        (build_paid, ["success", "warning"]),
        (build_canceled, ["default", "default"]),
        (build_canceled_without_restock, ["success", "default"]),
    ],
)
def test_a_canceled_order_has_gray_badges_for_unfinished_steps(
    panel: Panel, build: Callable[[], Order], kinds: list[str]
) -> None:
    pages = [panel.get(PAGE, build().pk), panel.get("orders_order_changelist", view="all")]

    # The badges are the status on the page, then payment and fulfillment in both.
    badges = [
        [kind or "default" for kind in re.findall(r'class="bo-badge(?: bo-badge-(\w+))?"', page.content.decode())]
        for page in pages
    ]
    assert [found[index : index + 2] for found, index in zip(badges, (1, 0), strict=True)] == [kinds, kinds]


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_number_of_queries_does_not_grow_with_the_items(panel: Panel, shop: Shop, language: str) -> None:
    User.objects.filter(pk=panel.user.pk).update(language=language)

    def build(count: int) -> Order:
        products = [make_product(f"Mug {count}.{number}", prices=("10.00",)) for number in range(count)]
        for product in products:
            make_image(product)
        variants = Variant.objects.filter(product__in=products)
        return route(lines=[{"variant_id": variant.pk, "quantity": 1} for variant in variants], transactions=[]).order

    orders = [build(count) for count in (1, 4)]
    panel.get(PAGE, orders[0].pk)
    counts, images = [], []
    for order in orders:
        with CaptureQueriesContext(connection) as queries:
            html = panel.get(PAGE, order.pk).content.decode()
        counts.append(len(queries))
        images.append(html.count('<img class="bo-thumb"'))

    assert images == [1, 4]
    assert counts[0] == counts[1]
