"""Documents that are issued concurrently get different numbers without gaps, and an order gets one invoice."""

from datetime import UTC, datetime
from decimal import Decimal
from functools import partial

import pytest
from django.db import IntegrityError

from apps.core.tenancy.models import Shop
from apps.documents.domain import issue
from apps.documents.models import DocumentCounter, IssuedDocument
from apps.orders.models import Order
from tests.support.databases.races import run_concurrently, run_unguarded, without_constraint
from tests.support.factories.orders import make_order

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_shop")]

MARCH = datetime(2026, 3, 2, 12, tzinfo=UTC)


def buy(shop: Shop) -> Order:
    return make_order(shop, lines=[{"title": "Mug", "price": Decimal(10), "quantity": 1}], financial_status="paid")


def issue_invoice(order: Order) -> IssuedDocument:
    return issue.issue_invoice(order, actor="system", at=MARCH)


@pytest.mark.race(control="test_invoices_share_a_number_without_the_counters_lock")
def test_twenty_invoices_have_numbers_without_gaps(shop: Shop) -> None:
    orders = [buy(shop) for _ in range(20)]

    run_concurrently(shop, *[partial(issue_invoice, order) for order in orders])

    assert sorted(IssuedDocument.objects.values_list("number", flat=True)) == list(range(1, 21))
    assert DocumentCounter.objects.get().last_number == 20


def test_invoices_share_a_number_without_the_counters_lock(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Show what goes wrong if the next number is read instead of updated: both documents get the number 1."""
    orders = [buy(shop), buy(shop)]

    def read(self: object) -> int:
        last = IssuedDocument.objects.order_by("-number").values_list("number", flat=True).first()
        return (last or 0) + 1

    monkeypatch.setattr(issue._NextNumber, "_take", read)
    with (
        without_constraint(IssuedDocument, "shop_id", "kind", "year", "number"),
        without_constraint(IssuedDocument, "shop_id", "name"),
    ):
        run_unguarded(shop, partial(issue_invoice, orders[0]), partial(issue_invoice, orders[1]))

        assert list(IssuedDocument.objects.values_list("number", flat=True)) == [1, 1]
        IssuedDocument.objects.all().delete()


@pytest.mark.race(control="test_second_invoice_breaks_the_unique_key_without_the_orders_lock")
def test_order_gets_one_invoice(shop: Shop) -> None:
    order = buy(shop)

    outcomes = run_concurrently(shop, *[partial(issue_invoice, order)] * 10)

    assert sum(isinstance(outcome, issue.NotIssued) for outcome in outcomes) == 9
    assert IssuedDocument.objects.get().number == DocumentCounter.objects.get().last_number == 1


def test_second_invoice_breaks_the_unique_key_without_the_orders_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock: both requests find no invoice, and the second breaks the unique key."""
    order = buy(shop)
    first = partial(issue_invoice, order)

    with pytest.raises(IntegrityError, match="one_invoice_per_order"):
        run_unguarded(shop, first, first, locks={"orders_order"})

    assert IssuedDocument.objects.get().number == DocumentCounter.objects.get().last_number == 1
