"""Tests with the real client: users."""

import pytest
import shopify

from apps.shops.models import Shop
from tests import factories
from tests.client.conftest import Connect

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]


def test_the_staff_is_read(api_client_factory: Connect, server_shop: Shop) -> None:
    Shop.objects.filter(pk=server_shop.pk).update(plan=Shop.Plan.PREMIUM)
    owner = factories.make_member(server_shop, owner=True, first_name="Ada")
    other = factories.make_member(server_shop, "orders")
    api_client_factory("read_users")

    first = shopify.User.find(limit=1)
    second = first.next_page()

    assert [user.id for user in (*first, *second)] == [owner.pk, other.pk]
    assert shopify.User.find(other.pk).permissions == ["orders"]
    assert (shopify.User.current().id, shopify.User.current().first_name) == (owner.pk, "Ada")
