"""Fixtures for tests of the panel: staff members with permissions, and clients logged in to a shop."""

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import Client

from apps.ground.tenancy import shop_scope
from apps.panel.form_idempotency import create_form_key
from apps.panel.reverse import get_panel_url
from apps.shops.models import Shop
from apps.staff.models import Membership, User
from tests import factories
from tests.conftest import Response
from tests.panel.one_of_each import one_of_each  # noqa: F401 - a fixture

PASSWORD = "correct horse battery"


class Panel:
    """A logged-in test client that opens pages by their URL names."""

    def __init__(self, user: User, shop: Shop, **client: Any) -> None:
        self.user, self.shop = user, shop
        self.http = Client(**client)
        self.http.force_login(user)

    def url(self, name: str = "index", /, *args: object) -> str:
        return get_panel_url(self.shop, f"admin:{name}", *args)

    def get(self, name: str = "index", /, *args: object, **query: Any) -> Response:
        return self.open(self.url(name, *args), **query)

    def open(self, address: str, **query: Any) -> Response:
        """Open a URL."""
        response = self.http.get(address, query)
        _send_all(response)
        return response

    def post(self, name: str, /, *args: object, **data: Any) -> Response:
        response = self.http.post(self.url(name, *args), data)
        _send_all(response)
        return response

    def forge(self, name: str, /, *args: object, **data: Any) -> Response:
        """Submit a page's form with a valid form key, without opening the page first."""
        return self.post(
            name, *args, form_key=create_form_key(cast("HttpRequest", SimpleNamespace(user=self.user))), **data
        )

    def form_key(self, name: str, /, *args: object) -> str:
        """Return the single-use form key that the page contains."""
        return str(self.get(name, *args).context["form_key"])


PanelWith = Callable[..., Panel]


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
    """Return a client logged in as the account owner."""
    return admin_client_with(owner=True)


@pytest.fixture
def operator_client(shop: Shop) -> Panel:
    """Return a client for the shop, logged in as the operator of the installation."""
    return Panel(factories.UserFactory.create(email="operator@example.com", is_superuser=True), shop)


def _send_all(response: HttpResponseBase) -> None:
    """Read a streamed response to the end, as a server does. The test client would leave the stream open."""
    if isinstance(response, StreamingHttpResponse):
        response.streaming_content = [response.getvalue()]


def read_stream(response: HttpResponseBase) -> bytes:
    """Return the complete body of a streamed response."""
    assert isinstance(response, StreamingHttpResponse)
    return response.getvalue()


def get_membership(user: User, shop: Shop) -> Membership:
    with shop_scope(shop):
        return Membership.objects.get(user=user)
