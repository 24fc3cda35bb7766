import uuid

import pytest
from django.contrib.auth.models import Permission
from django.db import transaction

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.support import factories
from tests.support.databases.emptying import empty_database, get_initial_triggers, get_triggers
from tests.support.databases.event_triggers import drop_event_triggers
from tests.support.databases.statistics import collect_statistics


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_an_emptied_database_is_as_after_migrate() -> None:
    permissions = Permission.objects.count()
    factories.make_shop()
    drop_event_triggers()
    assert get_triggers() != get_initial_triggers()

    empty_database()

    assert get_triggers() == get_initial_triggers()
    assert not Shop.objects.exists()
    assert Permission.objects.count() == permissions > 0


@pytest.mark.django_db(transaction=True)
def test_statistics_do_not_outlive_their_test() -> None:
    """Query plans would otherwise depend on the tests that ran earlier in the process."""
    collect_statistics()
    empty_database()

    shop = factories.make_shop()
    with shop_scope(shop):
        rows = Event.rows().filter(topic="orders/create", actor="app:1").values_list("topic", "actor")
        plan = rows.explain()
        with transaction.atomic():
            Event.objects.bulk_create(make_event(shop, number) for number in range(100))
            collect_statistics()
            changed_plan = rows.explain()
            transaction.set_rollback(True)

        assert rows.explain() == plan != changed_plan


def make_event(shop: Shop, number: int) -> Event:
    return Event(
        shop=shop,
        topic="orders/create",
        subject_type="orders.order",
        subject_id=number,
        group=uuid.uuid4(),
        created_at=shop.created_at,
        actor=f"app:{number}",
    )
