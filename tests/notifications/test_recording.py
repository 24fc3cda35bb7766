from datetime import timedelta

import pytest
from django.utils import timezone

from apps.core.exceptions import DomainError
from apps.core.jobs.periodic_tasks import Every
from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.core.types import Attrs
from apps.notifications.domain import recording
from apps.notifications.models import Notification
from apps.webhooks.domain import subscriptions
from apps.webhooks.domain.engine import subscription_health
from apps.webhooks.models import Health, Subscription
from tests.support import factories
from tests.support.factories.inventory import get_first_location, make_item, make_location, restock, sell, set_stock
from tests.support.factories.orders import make_order, make_variant
from tests.support.notifications import get_recorded
from tests.support.periodic import run_periodic_tasks
from tests.support.webhooks import make_subscription

URI = "https://hooks.example/in"


@pytest.fixture
def installation(shop: Shop) -> Installation:
    return factories.make_installation(shop)


def fail(subscription: Subscription, shop: Shop, **tally: object) -> None:
    values = {"failures": 1, "dead": 1, "error": "status_500", "shop": shop.pk, **tally}
    subscription_health.update_health({subscription.pk: subscription_health.Tally(**values)})  # type: ignore[arg-type]


def test_new_orders_are_recorded_but_not_imported_ones(shop: Shop, other_shop: Shop) -> None:
    order = make_order(shop, actor="app:1")
    make_order(shop, is_imported=True, actor="app:1")
    foreign = make_order(other_shop)

    assert get_recorded(shop, recording.NEW_ORDER) == [order.pk]
    assert get_recorded(other_shop, recording.NEW_ORDER) == [foreign.pk]
    with shop_scope(shop):
        row = Notification.objects.get()
        assert (row.actor, row.batched_at) == ("app:1", None)


def test_a_refused_order_is_not_recorded(shop: Shop) -> None:
    variant = make_variant(shop, stock=1)

    with pytest.raises(DomainError):
        make_order(
            shop,
            lines=[{"variant_id": variant.pk, "quantity": 2}],
            inventory_behaviour="decrement_obeying_policy",
        )

    assert get_recorded(shop, recording.NEW_ORDER) == []


def test_an_item_is_recorded_when_it_crosses_the_threshold(shop: Shop) -> None:
    Shop.objects.filter(pk=shop.pk).update(low_stock_at=3)
    shop.refresh_from_db()
    item, first = make_item(shop), get_first_location(shop)
    untracked = make_item(shop, tracked=False, sku="LOOSE")
    observed = []
    for available in (9, 4, 3, 1, 9, 0):
        set_stock(item, first, available)
        set_stock(untracked, first, available)
        observed.append(len(get_recorded(shop, recording.LOW_STOCK)))

    assert observed == [0, 0, 1, 1, 1, 2]
    assert set(get_recorded(shop, recording.LOW_STOCK)) == {item.pk}


def test_each_location_counts_for_low_stock(shop: Shop) -> None:
    Shop.objects.filter(pk=shop.pk).update(low_stock_at=2)
    shop.refresh_from_db()
    item, places = make_item(shop), [get_first_location(shop), make_location(shop)]
    by: Attrs = {"actor": "app:1", "at": timezone.now()}
    with shop_scope(shop):
        for place in places:
            restock(item, place, 5, **by)
            sell(item, place, 3, **by)

    assert get_recorded(shop, recording.LOW_STOCK) == [item.pk, item.pk]


def test_a_threshold_set_after_the_request_began_counts(shop: Shop) -> None:
    item, first = make_item(shop), get_first_location(shop)
    set_stock(item, first, 5)
    assert get_recorded(shop, recording.LOW_STOCK) == []
    Shop.objects.filter(pk=shop.pk).update(low_stock_at=2)
    with shop_scope(shop):
        assert shop.low_stock_at is None
        sell(item, first, 4, actor="app:1", at=timezone.now())

    assert get_recorded(shop, recording.LOW_STOCK) == [item.pk]


def test_the_first_failure_since_a_success_is_recorded(shop: Shop, installation: Installation) -> None:
    subscription = make_subscription(installation, URI)
    observed = []
    for tally in ({}, {}, {"dead": 0}, {"failures": 0, "dead": 0, "successes": 1}, {"dead": 0}, {"dead": 3}, {}):
        fail(subscription, shop, **tally)
        observed.append(len(get_recorded(shop, recording.FAILED_WEBHOOK)))

    assert observed == [1, 1, 1, 1, 1, 2, 2]
    assert set(get_recorded(shop, recording.FAILED_WEBHOOK)) == {subscription.pk}
    with all_shops_scope():
        assert Health.objects.get(subscription=subscription).dead_in_a_row == 4


def test_a_disabled_subscription_is_recorded(shop: Shop, installation: Installation) -> None:
    disabled, gone = make_subscription(installation, URI), make_subscription(installation, f"{URI}/gone")
    with all_shops_scope():
        since = timezone.now() - timedelta(hours=5)
        Health.objects.create(subscription=disabled, failing_since=since, dead_in_a_row=7)

    fail(disabled, shop)
    fail(gone, shop, is_gone=True)

    assert get_recorded(shop, recording.FAILED_WEBHOOK) == [disabled.pk, gone.pk, gone.pk]
    with all_shops_scope():
        disabled.refresh_from_db()
    assert disabled.state == "disabled"


def test_a_subscription_for_all_shops_is_recorded_where_it_failed(shop: Shop, other_shop: Shop) -> None:
    app = factories.make_installation(other_shop).app
    values = {"topic": "blogs/create", "uri": URI, "api_version": "2026-10"}
    subscription = subscriptions.create_configured_subscription(app, values, at=timezone.now())
    fail(subscription, shop)

    assert get_recorded(shop, recording.FAILED_WEBHOOK) == [subscription.pk]
    assert get_recorded(other_shop, recording.FAILED_WEBHOOK) == []


def test_old_notifications_are_deleted(shop: Shop) -> None:
    make_order(shop)
    new = make_order(shop)
    with shop_scope(shop):
        old = Notification.objects.order_by("id").first()
        assert old is not None
        Notification.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=31))

    run_periodic_tasks(Every.NIGHT)

    assert get_recorded(shop, recording.NEW_ORDER) == [new.pk]
