from collections.abc import Iterable
from typing import Any

import pytest

from apps.core.tenancy.models import Shop
from tests.support import factories
from tests.support.panel.client import Panel, PanelWith


@pytest.fixture
def admin_client_with(shop: Shop) -> PanelWith:
    """Return a factory: ``admin_client_with("themes", …)`` logs in a staff member with exactly these permissions."""

    def make(
        *names: str, view_only: Iterable[str] = (), shop: Shop = shop, owner: bool = False, **client: Any
    ) -> Panel:
        return Panel(factories.make_member(shop, *names, view_only=view_only, owner=owner), shop, **client)

    return make


@pytest.fixture
def owner_client(admin_client_with: PanelWith) -> Panel:
    return admin_client_with(owner=True)


@pytest.fixture
def operator_client(shop: Shop) -> Panel:
    """Return a client for the shop, logged in as the operator of the installation."""
    return Panel(factories.UserFactory.create(email="operator@example.com", is_superuser=True), shop)


@pytest.fixture
def product_client(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("products")


@pytest.fixture
def order_client(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("orders", "edit_orders")


@pytest.fixture
def refund_client(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("orders", "refund_orders")
