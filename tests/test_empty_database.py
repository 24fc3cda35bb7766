import pytest
from django.contrib.auth.models import Permission

from apps.core.tenancy.models import Shop
from tests.support import factories
from tests.support.databases.emptying import empty_database, get_initial_triggers, get_triggers
from tests.support.databases.event_triggers import drop_event_triggers


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
