from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from apps.core.tenancy.models import Membership, Shop, User
from apps.core.tenancy.scope import shop_scope
from apps.notifications.domain.notification_kinds import kinds
from apps.notifications.domain.recording import NEW_ORDER
from apps.notifications.domain.unseen import Unseen, count_unseen, mark_seen
from apps.notifications.models import Notification, Preference, SeenMark
from apps.staff.domain import memberships
from tests.support import factories
from tests.support.databases.races import run_concurrently
from tests.support.factories.orders import make_order
from tests.support.notifications import choose
from tests.support.panel.client import get_membership

KIND = kinds[NEW_ORDER]


@pytest.fixture
def user(shop: Shop) -> User:
    return factories.make_member(shop, "orders")


@pytest.fixture
def member(user: User, shop: Shop) -> Membership:
    return get_membership(user, shop)


def count(member: Membership, shop: Shop) -> Unseen:
    with shop_scope(shop):
        return count_unseen(member, member.user, [KIND])[0]


def see(member: Membership, shop: Shop, through: datetime | None = None) -> bool:
    with shop_scope(shop):
        return mark_seen(member, KIND, through=through or timezone.now())


def add_rows(shop: Shop, number: int, **values: object) -> None:
    fields = {"kind": NEW_ORDER, "subject_id": 1, "actor": "app:1", **values}
    with shop_scope(shop):
        Notification.objects.bulk_create([Notification(shop=shop, **fields) for _ in range(number)])


def test_orders_count_until_the_list_is_opened(shop: Shop, member: Membership) -> None:
    assert (count(member, shop).count, count(member, shop).text, count(member, shop).latest) == (0, "", 0)
    make_order(shop)
    assert count(member, shop).text == "1 new order"
    make_order(shop)
    assert count(member, shop).text == "2 new orders"

    assert see(member, shop)
    assert not see(member, shop)
    assert count(member, shop).count == 0
    make_order(shop)
    assert count(member, shop).count == 1


def test_own_changes_and_the_time_before_joining_do_not_count(shop: Shop) -> None:
    make_order(shop)
    user = factories.make_member(shop, "orders")
    member = get_membership(user, shop)
    assert count(member, shop).count == 0

    make_order(shop, actor=f"staff:{user.pk}")
    assert count(member, shop).count == 0
    make_order(shop, actor=f"staff:{user.pk + 1}")
    assert count(member, shop).count == 1


def test_members_and_shops_are_counted_separately(shop: Shop, other_shop: Shop, member: Membership, user: User) -> None:
    colleague = get_membership(factories.make_member(shop, "orders"), shop)
    with shop_scope(other_shop):
        foreign = Membership.objects.create(shop=other_shop, user=user, permissions=["orders"])
    make_order(shop)
    see(member, shop)

    assert [count(row, shop).count for row in (member, colleague)] == [0, 1]
    assert count(foreign, other_shop).count == 0


def test_the_count_ends_at_99(shop: Shop, member: Membership) -> None:
    add_rows(shop, 99)
    assert (count(member, shop).number, count(member, shop).has_more) == ("99", False)
    add_rows(shop, 1)
    assert (count(member, shop).text, count(member, shop).count) == ("99+ new orders", 99)


def test_the_mark_covers_what_the_page_could_show(shop: Shop, member: Membership) -> None:
    opened_at = timezone.now()
    add_rows(shop, 1, created_at=opened_at - timedelta(seconds=1))
    add_rows(shop, 2, created_at=opened_at + timedelta(seconds=1))
    Membership._base_manager.filter(pk=member.pk).update(created_at=opened_at - timedelta(days=1))

    assert see(member, shop, opened_at)

    member.refresh_from_db()
    assert count(member, shop).count == 2


def test_a_mark_never_moves_back(shop: Shop, member: Membership) -> None:
    opened_at = timezone.now()
    add_rows(shop, 1, created_at=opened_at - timedelta(seconds=1))
    add_rows(shop, 1, created_at=opened_at)

    assert see(member, shop)
    assert not see(member, shop, opened_at - timedelta(seconds=1))

    assert count(member, shop).count == 0


def test_a_removed_member_leaves_nothing_behind(shop: Shop, user: User) -> None:
    owner = factories.make_member(shop, owner=True)
    member = choose(user, shop, new_order="email")
    make_order(shop)
    see(member, shop)
    with shop_scope(shop):
        assert Preference.objects.exists()
        assert SeenMark.objects.exists()
        memberships.remove_member(member, by=owner, at=timezone.now())

        assert not Preference.objects.exists()
        assert not SeenMark.objects.exists()
    user.delete()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(no_guard="the insert ignores conflicts, and the update only moves the mark forward")
def test_two_tabs_mark_the_same_list_as_seen(shop: Shop, member: Membership) -> None:
    make_order(shop)
    run_concurrently(shop, *[lambda: mark_seen(member, KIND, through=timezone.now())] * 4, expected_errors=())

    assert count(member, shop).count == 0
    with shop_scope(shop):
        assert SeenMark.objects.count() == 1
