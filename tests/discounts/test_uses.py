from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.core.jobs import consistency_checks
from apps.core.tenancy.models import Shop
from apps.customers.domain import erasure, merge, personal_data
from apps.customers.models import Customer
from apps.discounts.domain import refusals
from apps.discounts.domain.calculation import Cart, CartLine, calculate_discounts
from apps.discounts.domain.uses import CodeNotUsable, record_uses
from apps.discounts.models import DiscountCode, DiscountUse, PriceRuleItem
from apps.orders.domain import transitions
from apps.orders.models import Order
from tests.support.api_client import ApiClient
from tests.support.databases.races import run_concurrently, run_unguarded
from tests.support.factories.customers import make_customer
from tests.support.factories.discounts import make_code, make_rule
from tests.support.factories.orders import make_order

pytestmark = pytest.mark.usefixtures("in_shop")

CHECK = {"uses of discount codes"}


def use(order: Order, *codes: str, enforce: bool = True) -> list[DiscountUse]:
    return record_uses(order, codes, enforce=enforce, at=timezone.now())


def get_counts() -> dict[str, int]:
    return dict(DiscountCode.objects.values_list("code", "usage_count"))


def test_orders_of_apps_count_but_are_never_refused(api: ApiClient) -> None:
    make_code("SUMMER", make_rule(usage_limit=1))
    make_code("OTHER")
    codes = [{"code": name, "amount": "1.00", "type": "fixed_amount"} for name in ("summer", "unknown")]
    body = {
        "email": "Ada@Example.com",
        "line_items": [{"title": "Mug", "price": "20.00", "quantity": 1}],
        "discount_codes": codes,
    }

    responses = [api.post("orders.json", {"order": body}) for _ in range(2)]

    assert [response.status_code for response in responses] == [201, 201]
    assert get_counts() == {"SUMMER": 2, "OTHER": 0}
    uses = DiscountUse.objects.order_by("pk")
    assert [use.order_id for use in uses] == [response.json()["order"]["id"] for response in responses]
    assert {(use.customer_id, use.email_key) for use in uses} == {(Customer.objects.get().pk, "ada@example.com")}


def test_test_orders_use_no_codes(api: ApiClient) -> None:
    make_code("SUMMER", make_rule(usage_limit=1))
    line = {"title": "Mug", "price": "20.00", "quantity": 1}
    codes = [{"code": "SUMMER", "amount": "1.00", "type": "fixed_amount"}]

    for is_test in (True, False):
        body = {"line_items": [line], "discount_codes": codes, "test": is_test}
        assert api.post("orders.json", {"order": body}).status_code == 201

    assert get_counts() == {"SUMMER": 1}
    assert [use.order.test for use in DiscountUse.objects.all() if use.order] == [False]


def test_an_application_without_a_code_of_the_order_counts_once() -> None:
    make_code("SUMMER")
    application = {"type": "discount_code", "code": "Summer", "value": "1.00", "value_type": "fixed_amount"}
    order = make_order(applications=[application])

    assert use(order, "SUMMER", "summer") == []
    assert get_counts() == {"SUMMER": 1}


def test_imported_orders_do_not_count() -> None:
    make_code("SUMMER")

    make_order(codes=[{"code": "SUMMER", "amount": Decimal(1), "type": "fixed_amount"}], is_imported=True)

    assert get_counts() == {"SUMMER": 0}


def test_limits_are_enforced() -> None:
    make_code("ONE", make_rule(usage_limit=1))
    order, other = make_order(), make_order()

    assert len(use(order, "one")) == 1
    assert use(order, "ONE") == []
    for code, message in {
        "One": "ONE: The discount code has been used up",
        "X": "X: The discount code does not exist",
    }.items():
        with pytest.raises(CodeNotUsable) as caught:
            use(other, code)
        assert caught.value.errors == {"discount_codes": [message]}
    assert get_counts() == {"ONE": 1}


@pytest.mark.parametrize("by", ["customer", "email"])
def test_a_customer_uses_a_discount_once(by: str) -> None:
    rule = make_rule(once_per_customer=True)
    make_code("A", rule)
    make_code("B", rule)
    contact: dict[str, Any] = {"email": "ada@example.com"}
    if by == "customer":
        contact = {"customer": {"id": make_customer(email="ada@example.com").pk}}
    orders = [make_order(**contact) for _ in range(2)]
    use(orders[0], "A", "B")
    if by == "customer":
        DiscountUse.objects.update(email_key="")

    with pytest.raises(CodeNotUsable, match="already used"):
        use(orders[1], "B")
    use(make_order(email="eve@example.com"), "B")
    assert get_counts() == {"A": 1, "B": 2}


def test_an_email_address_stands_for_its_customer() -> None:
    ada = make_customer(email="ada@example.com")
    make_code("A", make_rule(once_per_customer=True))
    use(make_order(customer={"id": ada.pk}, email="office@example.com"), "A")

    for email in ("Ada@Example.com", "office@example.com"):
        cart = Cart("USD", [CartLine(1, Decimal(20))], email=email)
        assert calculate_discounts(cart, ["A"], at=timezone.now()).refused == {"A": refusals.ALREADY_USED}
        with pytest.raises(CodeNotUsable, match="already used"):
            use(make_order(email=email), "A")
    cart = Cart("USD", [CartLine(1, Decimal(20))], email="eve@example.com")
    assert calculate_discounts(cart, ["A"], at=timezone.now()).refused == {}


def test_uses_remain_when_orders_are_canceled_and_deleted() -> None:
    make_code("ONE", make_rule(usage_limit=1))
    order = make_order()
    use(order, "ONE")

    transitions.cancel_order(order, actor="system", at=timezone.now())
    order.delete()

    assert get_counts() == {"ONE": 1}
    assert DiscountUse.objects.get().order_id is None
    assert list(consistency_checks.find_differences(CHECK)) == []


def test_a_wrong_counter_is_found(shop: Shop) -> None:
    code = make_code("A")
    DiscountCode.objects.update(usage_count=2)

    (found,) = consistency_checks.find_differences(CHECK)

    assert f"shop {shop.pk}, discount code {code.pk}: the counter is 2, the uses are 0" in found


def test_a_merge_moves_uses_and_selected_customers() -> None:
    keep, other = make_customer(email="ada@example.com"), make_customer(email="eve@example.com")
    both, one = (
        make_rule(customer_selection="prerequisite", prerequisite_customer_ids=ids)
        for ids in ([keep.pk, other.pk], [other.pk])
    )
    make_code("A")
    use(make_order(customer={"id": other.pk}), "A")

    merge.merge_customers(keep, other, {"email": "keep"}, actor="system", at=timezone.now())

    assert DiscountUse.objects.get().customer_id == keep.pk
    assert set(PriceRuleItem.objects.values_list("rule_id", "customer_id")) == {(both.pk, keep.pk), (one.pk, keep.pk)}


def test_an_erasure_clears_the_email_addresses() -> None:
    ada = make_customer(email="ada@example.com")
    make_code("A")
    order = make_order(customer={"id": ada.pk})
    use(order, "A")
    part = personal_data.personal_data_parts["discounts"]
    assert part.export is not None
    ((_, exported),) = part.export(ada, 0)
    assert exported["code"] == "A"  # type: ignore[index]

    erasure.erase_customer(ada, actor="system", at=timezone.now())

    assert list(DiscountUse.objects.values_list("email_key", "order_id")) == [("", order.pk)]
    assert get_counts() == {"A": 1}


def test_the_database_refuses_a_second_use_in_an_order() -> None:
    code, order = make_code("A"), make_order()
    use(order, "A")

    with pytest.raises(IntegrityError), transaction.atomic():
        DiscountUse.objects.create(shop_id=code.shop_id, code=code, order=order)


def make_limited_code(**limit: Any) -> list[Order]:
    make_code("A", make_rule(ends_at=timezone.now() + timedelta(days=1), **limit))
    ada = make_customer(email="ada@example.com")
    return [make_order(customer={"id": ada.pk}) for _ in range(4)]


LIMITS = pytest.mark.parametrize("limit", [{"usage_limit": 1}, {"once_per_customer": True}])


@LIMITS
@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_a_code_is_used_twice_without_the_locks")
def test_concurrent_orders_never_exceed_a_limit(shop: Shop, limit: dict[str, Any]) -> None:
    orders = make_limited_code(**limit)

    results = run_concurrently(shop, *[partial(use, order, "A") for order in orders])

    assert sum(isinstance(result, list) for result in results) == 1
    assert sum(isinstance(result, CodeNotUsable) for result in results) == 3
    assert get_counts() == {"A": 1}
    assert DiscountUse.objects.count() == 1


@LIMITS
@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_code_is_used_twice_without_the_locks(shop: Shop, limit: dict[str, Any]) -> None:
    """Show what goes wrong without the locks: both orders see the code as unused."""
    orders = make_limited_code(**limit)
    works = [partial(use, order, "A") for order in orders[:2]]

    run_unguarded(shop, *works, locks={"discounts_pricerule", "discounts_discountcode"})

    assert DiscountUse.objects.count() == 2
    assert list(consistency_checks.find_differences(CHECK)) != []
