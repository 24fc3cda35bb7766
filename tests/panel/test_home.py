from datetime import timedelta
from decimal import Decimal
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.core.admin.pages import dashboard
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.permissions import NAMES
from apps.core.tenancy.scope import shop_scope
from apps.fulfillment.models import FulfillmentOrder
from apps.inventory.models import InventoryItem
from apps.orders.models import LineItem, Order, Transaction
from apps.refunds.domain import create
from apps.refunds.domain.validation import RefundLineInput, RefundRequest, RefundTransactionInput
from apps.webhooks.models import Subscription
from tests.support import factories
from tests.support.factories.catalog import make_product
from tests.support.factories.content import make_comment
from tests.support.factories.fulfillment import make_fulfillment_order
from tests.support.factories.inventory import make_item
from tests.support.factories.orders import make_order
from tests.support.factories.refunds import BY, create_bogus_order, refund_amount, run_refund_jobs
from tests.support.panel.admin_urls import TABLE
from tests.support.panel.client import Panel, PanelWith
from tests.support.subtests import Subtests
from tests.support.webhooks import make_subscription

pytestmark = pytest.mark.usefixtures("in_shop")

NOTHING_OPEN, NOTHING_WAITS = "but no permissions yet", "You have no open tasks"
# Four unpaid orders have fulfillment orders: two are late, one has no due date, and one is due in two days.
BUSY = {
    "Late": "2",
    "Failed refunds": "1",
    "To fulfill": "3",
    "Unpaid orders": "4",
    "Refunds due": "1",
    "Low stock": "1",
    "Comments": "1",
    "Failed jobs": "2",
    "Disabled webhooks": "1",
}


def create_failed_refund(shop: Shop) -> Order:
    order = create_bogus_order(shop, behavior="bogus:fail")
    line = LineItem.objects.get(order=order)
    refund_request = RefundRequest(
        line_inputs=[RefundLineInput(line.pk)], transaction_inputs=[RefundTransactionInput(Decimal("20.00"))]
    )
    create.create_refund(Order.objects.get(pk=order.pk), refund_request, at=timezone.now(), **BY)
    run_refund_jobs(shop)
    return order


def make_busy(shop: Shop) -> None:
    """Create rows for every type of to-do item."""
    now = timezone.now()
    create_failed_refund(shop)
    Shop.objects.filter(pk=shop.pk).update(low_stock_at=0)
    shop.refresh_from_db()
    make_item(shop)
    installation = factories.make_installation(shop, ("read_orders", "write_content"))
    for number, state in enumerate(("live", "disabled")):
        subscription = make_subscription(installation, f"https://hooks.example/{number}")
        Subscription.objects.filter(pk=subscription.pk).update(state=state)
    for days in (-2, -1, None, 2):
        row = make_fulfillment_order(email="ada@example.com")
        due_rows = None if days is None else now + timedelta(days=days)
        FulfillmentOrder.objects.filter(pk=row.pk).update(fulfill_by=due_rows)
    for order_state in ("closed", "cancelled"):
        Order.objects.filter(pk=make_order().pk).update(status=order_state, **{f"{order_state}_at": now})
    make_comment()
    for job_state in ("failed", "failed", "done", "waiting"):
        Job.objects.create(shop=shop, task="themes.unpack", state=job_state)


def get_todo_items(panel: Panel) -> dict[str, str]:
    return {waiting.task.title: waiting.number for waiting in panel.get().context["tasks"]}


def test_the_list_says_how_much_of_what_waits(owner_client: Panel, shop: Shop, other_shop: Shop) -> None:
    make_busy(shop)
    with shop_scope(other_shop):
        create_failed_refund(other_shop)
        make_order(other_shop)

    assert list(get_todo_items(owner_client).items()) == list(BUSY.items())
    assert NOTHING_WAITS not in owner_client.get().content.decode()


def test_each_row_leads_to_exactly_what_it_counts(owner_client: Panel, shop: Shop) -> None:
    make_busy(shop)

    with Subtests() as checks:
        for waiting in owner_client.get().context["tasks"]:
            with checks(waiting.task.title):
                response = owner_client.http.get(waiting.link)
                assert response.status_code == 200
                ((name, value),) = parse_qsl(urlsplit(waiting.link).query)
                assert value
                if waiting.task.model is InventoryItem:
                    assert str(response.context["page_of_items"].paginator.count) == waiting.number
                    assert response.context["only_low"]
                    continue
                assert f"{response.context['cl'].result_count:,}" == waiting.number
                # The list offers the link's filter.
                assert response.context["cl"].params.get(name) or name in response.context["cl"].get_filters_params()


def test_lists_without_permission_are_not_mentioned(admin_client_with: PanelWith, shop: Shop) -> None:
    make_busy(shop)

    with Subtests() as checks:
        for name in NAMES:
            with checks(name):
                panel = admin_client_with(name)
                shown = panel.get().context
                titles = {waiting.task.title for waiting in shown["tasks"]}
                assert titles == {task.title for task in dashboard.tasks.values() if can_open_list(panel, task)}
                links = [link for *_, link in shown["cards"] if link]
                assert {panel.http.get(link).status_code for link in links} <= {200}


def can_open_list(panel: Panel, task: dashboard.Task) -> bool:
    address = panel.url(f"{task.model._meta.app_label}_{task.model._meta.model_name}_changelist")
    status = panel.http.get(f"{address}?{task.query}").status_code
    assert status in {200, 403}
    return status == 200


def test_the_text_nothing_is_open_is_shown_only_if_true(admin_client_with: PanelWith) -> None:
    on_home_alone = {"dashboard", "overviews"}

    with Subtests() as checks:
        for name in NAMES:
            with checks(name):
                something = name in on_home_alone or any(name in row.lets for row in TABLE.values())
                page = admin_client_with(name).get().content.decode()
                assert (NOTHING_OPEN in page, NOTHING_WAITS in page) == (not something, something)


def test_the_page_says_once_that_nothing_is_waiting(owner_client: Panel) -> None:
    page = owner_client.get()

    assert page.context["tasks"] == []
    assert page.content.decode().count(NOTHING_WAITS) == 1


def test_a_failed_refund_waits_until_the_money_is_back(owner_client: Panel, shop: Shop) -> None:
    order = create_failed_refund(shop)
    before = get_todo_items(owner_client)
    Transaction.objects.filter(order=order, kind="sale").update(authorization="")

    refund_amount(order, "20.00")
    run_refund_jobs(shop)

    assert before["Failed refunds"] == "1"
    assert "Failed refunds" not in get_todo_items(owner_client)


def test_large_numbers_are_not_counted(owner_client: Panel, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dashboard, "MAX_COUNTED_ROWS", 3)
    for _ in range(4):
        make_order(shop)

    with CaptureQueriesContext(connection) as queries:
        todo_items = get_todo_items(owner_client)

    assert todo_items["Unpaid orders"] == "3+"
    counts = sum("COUNT(" in query["sql"] and "LIMIT 3" in query["sql"] for query in queries.captured_queries)
    assert counts >= len(dashboard.tasks)


def test_home_costs_the_same_queries_however_much_waits(owner_client: Panel, shop: Shop) -> None:
    costs = []
    for _ in range(3):
        owner_client.get()
        with CaptureQueriesContext(connection) as queries:
            owner_client.get()
        costs.append(len(queries))
        make_busy(shop)

    assert costs[1] == costs[2]
    # The first request needs one fewer query, because an empty audit log has no actor names.
    assert costs[1] - costs[0] <= 1


def test_every_task_leads_to_a_list_of_the_panel() -> None:
    assert dashboard.tasks
    assert all(admin.site.is_registered(task.model) for task in dashboard.tasks.values())


FIRST_STEPS = ("Add your first product", "Import from files", "Move a store here")


@pytest.mark.parametrize(
    ("permissions", "expected"),
    [
        ((), FIRST_STEPS),
        (("orders",), ()),
        (("products",), FIRST_STEPS[:2]),
    ],
)
def test_first_steps_follow_permissions(
    permissions: tuple[str, ...], expected: tuple[str, ...], owner_client: Panel, admin_client_with: PanelWith
) -> None:
    panel = admin_client_with(*permissions) if permissions else owner_client

    response = panel.get()

    assert tuple(step.title for step, _link in response.context["first_steps"]) == expected
    assert ("Set up your shop" in response.content.decode()) == bool(expected)
    assert all(panel.http.get(link).status_code == 200 for _step, link in response.context["first_steps"])


def test_shops_with_data_offer_no_first_steps(owner_client: Panel, other_shop: Shop) -> None:
    with shop_scope(other_shop):
        make_product()
    assert len(owner_client.get().context["first_steps"]) == len(FIRST_STEPS)

    make_product()

    assert owner_client.get().context["first_steps"] == []
