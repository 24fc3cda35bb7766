"""Sales while the sweep reports the same product: the last stock is always reported."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from django.db import transaction

from apps.catalog.domain.notifications import stock_updates
from apps.catalog.models import DelayedUpdate, Product, Variant
from apps.core.events.models import Event
from apps.core.events.recording import EventInput, record_secondary_events
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.inventory.domain import movements, stock
from apps.inventory.domain.movements import StockChange
from apps.inventory.models import StockMovement
from tests.support import factories
from tests.support.databases.races import run_concurrently, run_while_uncommitted
from tests.support.factories.orders import make_variant
from tests.support.webhooks import make_subscription

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

START = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture
def variant(shop: Shop) -> Iterator[Variant]:
    """Return a variant with a sale that waits for the sweep, in a shop with a subscription."""
    make_subscription(factories.make_installation(shop), "https://apps.example.com/a", topic=stock_updates.TOPIC)
    with shop_scope(Shop.objects.get(pk=shop.pk)):
        variant = make_variant(shop, stock=20)
        sell(variant, seconds=0)
        sell(variant, seconds=1)
        assert (get_reported_stock(), DelayedUpdate.objects.get().is_waiting) == (-1, True)
        yield variant


@transaction.atomic
def sell(variant: Variant, *, seconds: int) -> None:
    moves = [StockChange(variant.inventory_item_id, stock.get_primary_location().pk, -1)]
    at = START + timedelta(seconds=seconds)
    movements.apply_stock_changes(moves, reason=StockMovement.Reason.SALE, actor="system", at=at)


def sweep(*, seconds: int) -> int:
    with all_shops_scope():
        return stock_updates.record_waiting_updates(START + timedelta(seconds=seconds))


def get_reported_stock() -> int:
    event = Event.objects.filter(topic=stock_updates.TOPIC).latest("pk")
    return int((event.payload or {})["2026-10"]["variants"][0]["inventory_quantity"])


@pytest.mark.race(control="test_a_sale_is_lost_if_the_sweep_clears_the_mark_after_reading")
def test_a_sale_during_the_sweep_waits_for_the_next(shop: Shop, variant: Variant) -> None:
    run_while_uncommitted(shop, partial(sweep, seconds=6), partial(sell, variant, seconds=6))

    assert (get_reported_stock(), DelayedUpdate.objects.get().is_waiting) == (-2, True)
    assert sweep(seconds=11) == 1
    assert get_reported_stock() == -3


@pytest.mark.race(control="test_a_sale_is_lost_if_the_sweep_clears_the_mark_after_reading")
def test_a_sweep_during_a_sale_reports_the_sale(shop: Shop, variant: Variant) -> None:
    run_while_uncommitted(shop, partial(sell, variant, seconds=4), partial(sweep, seconds=6))

    assert (get_reported_stock(), DelayedUpdate.objects.get().is_waiting) == (-3, False)


@pytest.mark.race(control="test_a_sale_is_lost_if_the_sweep_clears_the_mark_after_reading")
def test_many_sales_and_sweeps_report_the_last_stock(shop: Shop, variant: Variant) -> None:
    sales = [partial(sell, variant, seconds=second) for second in range(2, 14)]
    sweeps = [partial(sweep, seconds=second) for second in range(6, 18, 3)]
    run_concurrently(shop, *sales, *sweeps)

    sweep(seconds=60)

    assert get_reported_stock() == -14
    assert not DelayedUpdate.objects.get().is_waiting


def test_a_sale_is_lost_if_the_sweep_clears_the_mark_after_reading(shop: Shop, variant: Variant) -> None:
    """Show what goes wrong without the guard: the product is read first, and its mark is cleared without a lock."""
    at = START + timedelta(seconds=6)
    with transaction.atomic():
        product = Product.objects.get(pk=variant.product_id)
        record_secondary_events([EventInput(stock_updates.TOPIC, product)], actor="system", at=at)
        run_concurrently(shop, partial(sell, variant, seconds=4))
        DelayedUpdate.objects.update(is_waiting=False, quiet_until=at + stock_updates.QUIET)

    assert sweep(seconds=60) == 0
    assert get_reported_stock() == -2
