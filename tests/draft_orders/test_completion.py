from collections.abc import Callable
from decimal import Decimal
from functools import partial

import pytest
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.discounts.domain.uses import CodeNotUsable
from apps.discounts.models import DiscountUse
from apps.draft_orders.domain.draft_orders import (
    DraftOrderCompleted,
    duplicate_draft_order,
    duplicate_order_as_draft,
    update_draft_order,
)
from apps.draft_orders.models import DraftOrder
from apps.orders.domain.create.restored import OrderRefused
from apps.orders.domain.updates import delete_order
from apps.orders.models import Order
from tests.support.api_client import ApiClient, get_errors
from tests.support.databases.races import run_concurrently, run_unguarded
from tests.support.factories.customers import make_customer
from tests.support.factories.discounts import make_code, make_rule
from tests.support.factories.draft_orders import complete, make_draft_order
from tests.support.factories.orders import MUG, get_available, make_order, make_variant

pytestmark = pytest.mark.usefixtures("in_shop")

ACTOR: Attrs = {"actor": "system", "at": timezone.now()}


def test_a_completed_draft_order_has_a_paid_order_with_its_amounts() -> None:
    lines = [
        {"title": "Mug", "price": Decimal("10.00"), "quantity": 3, "applied_discount": {"value": "1.50"}},
        {"title": "Cup", "price": Decimal("3.33")},
    ]
    discount = {"value": "10", "value_type": "percentage", "title": "Regular"}
    shipping = {"title": "Post", "price": Decimal("5.00")}
    draft = make_draft_order(lines, applied_discount=discount, shipping_line=shipping, note="Gift", tags="a, b")

    order = complete(draft).order

    assert order is not None
    # 10% of 28.83, which is 33.33 minus 3 times 1.50, rounds to 2.88.
    expected = tuple(map(Decimal, ("7.38", "25.95", "30.95")))
    assert (draft.total_discounts, draft.subtotal_price, draft.total_price) == expected
    assert (order.total_discounts, order.subtotal_price, order.total_price) == expected
    assert (order.financial_status, order.total_paid, order.source_name) == ("paid", Decimal("30.95"), "draft_order")
    assert (order.note, order.tags) == ("Gift", "a, b")
    shares = [part["amount"] for line in order.line_items.order_by("pk") for part in line.discount_allocations]
    assert shares == ["4.5", "2.55", "0.33"]


def test_a_completed_draft_order_cannot_be_completed_again() -> None:
    draft = complete(make_draft_order(), payment_pending=True)

    assert draft.order is not None
    assert draft.order.financial_status == "pending"
    with pytest.raises(DraftOrderCompleted):
        complete(draft)
    delete_order(draft.order, **ACTOR)
    with pytest.raises(DraftOrderCompleted):
        complete(draft)


def test_changed_prices_and_taxes_do_not_change_the_invoice(shop: Shop) -> None:
    variant = make_variant(shop)
    draft = make_draft_order([{"variant_id": variant.pk}])
    type(variant).objects.filter(pk=variant.pk).update(price=Decimal("99.00"))

    update_draft_order(draft, {"note": "Call first"}, **ACTOR)
    order = complete(draft).order

    assert order is not None
    assert order.total_price == draft.total_price == Decimal("10.00")


def test_a_wrong_total_is_never_charged() -> None:
    draft = make_draft_order()
    DraftOrder.objects.filter(pk=draft.pk).update(total_price=Decimal("1.00"))

    with pytest.raises(Exception, match="must be") as refused:
        complete(draft)

    assert not isinstance(refused.value, OrderRefused)
    assert not Order.objects.exists()


def test_a_deleted_variant_leaves_a_custom_line(api: ApiClient, shop: Shop) -> None:
    variant = make_variant(shop)
    draft = make_draft_order([{"variant_id": variant.pk, "quantity": 2}])
    before = api.get(f"draft_orders/{draft.pk}.json").json()["draft_order"]["line_items"][0]
    variant.product.delete()

    line = api.get(f"draft_orders/{draft.pk}.json").json()["draft_order"]["line_items"][0]
    order = complete(draft).order

    assert line == {**before, "variant_id": None, "product_id": None, "custom": True}
    assert order is not None
    assert list(order.line_items.values_list("title", "price")) == [("Mug", Decimal(10))]


def test_a_deleted_order_leaves_the_draft_order(api: ApiClient) -> None:
    draft = complete(make_draft_order())
    path = f"draft_orders/{draft.pk}.json"
    assert api.get(path).json()["draft_order"]["order_id"] == draft.order_id
    order = draft.order
    assert order is not None

    delete_order(order, **ACTOR)

    body = api.get(path).json()["draft_order"]
    assert (body["order_id"], body["status"]) == (None, "completed")


def test_codes_are_applied_and_counted(api: ApiClient) -> None:
    code = make_code("TEN")
    body = {"line_items": [{"title": "Mug", "price": "20.00"}], "discount_codes": [" ten "]}

    draft = api.post("draft_orders.json", {"draft_order": body}).json()["draft_order"]
    completed = api.put(f"draft_orders/{draft['id']}/complete.json").json()["draft_order"]

    assert (draft["discount_codes"], draft["total_price"]) == (["ten"], "18.00")
    order = api.get(f"orders/{completed['order_id']}.json").json()["order"]
    assert order["discount_codes"] == [{"code": "TEN", "amount": "2.00", "type": "percentage"}]
    assert order["total_price"] == "18.00"
    assert DiscountUse.objects.filter(code=code, order=order["id"]).count() == 1


def test_codes_that_do_not_apply_are_refused(api: ApiClient) -> None:
    make_code("TEN", make_rule(prerequisite_subtotal=Decimal("50.00")))
    body = {"line_items": [{"title": "Mug", "price": "20.00"}], "discount_codes": ["TEN", "UNKNOWN"]}

    response = api.post("draft_orders.json", {"draft_order": body})

    assert [message.partition(":")[0] for message in get_errors(response)["discount_codes"]] == ["TEN", "UNKNOWN"]


def test_a_code_that_was_used_up_meanwhile_is_refused() -> None:
    make_code("ONCE", make_rule(usage_limit=1))
    first, second = (make_draft_order(discount_codes=["ONCE"]) for _ in range(2))
    complete(first)

    with pytest.raises(CodeNotUsable):
        complete(second)

    assert Order.objects.count() == 1


def test_overselling_is_possible_if_it_is_requested(shop: Shop) -> None:
    variant = make_variant(shop, stock=1)
    draft = make_draft_order([{"variant_id": variant.pk, "quantity": 3}])

    complete(draft, inventory_behaviour=Order.InventoryBehaviour.IGNORE_POLICY)

    assert get_available(variant) == -2


def test_a_customer_without_an_account_is_found_by_email() -> None:
    customer = make_customer(email="ada@example.com")
    draft = complete(make_draft_order(email="ADA@example.com"))

    assert draft.order is not None
    assert draft.customer_id == draft.order.customer_id == customer.pk


def test_a_discount_for_selected_customers_applies_to_their_email_address() -> None:
    customer = make_customer(email="ada@example.com")
    make_code("VIP", make_rule("-50", customer_selection="prerequisite", prerequisite_customer_ids=[customer.pk]))

    draft = complete(make_draft_order(email="ADA@example.com", discount_codes=["VIP", "vip"]))

    assert draft.order is not None
    assert (draft.order.customer, draft.discount_codes) == (customer, ["VIP"])
    assert draft.order.total_discounts == draft.order.total_price == Decimal("20.00")


def test_a_copy_has_the_prices_of_the_draft_order(shop: Shop) -> None:
    variant = make_variant(shop)
    lines = [{"variant_id": variant.pk, "price": Decimal("7.00"), "applied_discount": {"value": "1"}}]
    shipping = {"title": "Post", "price": Decimal("5.00")}
    draft = complete(make_draft_order(lines, shipping_line=shipping, tags="a"))

    copy = duplicate_draft_order(draft, **ACTOR).draft

    assert (copy.name, copy.status, copy.order_id, copy.tags) == ("#D2", "open", None, "a")
    assert copy.total_price == draft.total_price == Decimal("11.00")


def test_an_order_is_duplicated_at_current_prices(shop: Shop) -> None:
    variant = make_variant(shop)
    customer = make_customer()
    shipping = [{"title": "Post", "price": Decimal("5.00")}]
    lines = [{"variant_id": variant.pk, "price": Decimal("1.00")}, MUG]
    order = make_order(lines=lines, shipping=shipping, customer={"id": customer.pk}, note="x")

    draft = duplicate_order_as_draft(order, **ACTOR).draft

    assert (draft.customer_id, draft.note, draft.total_price) == (customer.pk, "x", Decimal("35.00"))


def _complete_or_refuse(draft: DraftOrder) -> Callable[[], DraftOrder]:
    return partial(complete, draft)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_concurrent_completions_create_two_orders_without_the_lock")
def test_concurrent_completions_create_one_order(shop: Shop) -> None:
    variant = make_variant(shop, stock=50)
    draft = make_draft_order([{"variant_id": variant.pk, "quantity": 2}])

    results = run_concurrently(shop, *[_complete_or_refuse(draft)] * 6)

    assert sum(isinstance(result, DraftOrder) for result in results) == 1
    assert sum(isinstance(result, DraftOrderCompleted) for result in results) == 5
    assert Order.objects.get().pk == DraftOrder.objects.get().order_id
    assert get_available(variant) == 48


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_completions_create_two_orders_without_the_lock(shop: Shop) -> None:
    draft = make_draft_order()
    works = [_complete_or_refuse(draft)] * 2

    run_unguarded(shop, *works, locks={"draft_orders_draftorder"})

    assert Order.objects.count() == 2


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(no_guard="The counter is increased by one UPDATE, which locks its row.")
def test_concurrent_draft_orders_have_different_names(shop: Shop) -> None:
    results = run_concurrently(shop, *[make_draft_order] * 5)

    assert sorted(draft.name for draft in results) == ["#D1", "#D2", "#D3", "#D4", "#D5"]
