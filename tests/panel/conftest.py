"""Fixtures of the panel's tests: people with permissions, and clients that are in a shop."""

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
from tests.panel.things import things_of  # noqa: F401 - a fixture

PASSWORD = "correct horse battery"


class Panel:
    """A browser that is logged in, and finds its way by the names of the pages."""

    def __init__(self, user: User, shop: Shop, **client: Any) -> None:
        self.user, self.shop = user, shop
        self.http = Client(**client)
        self.http.force_login(user)

    def url(self, name: str = "index", /, *args: object) -> str:
        return get_panel_url(self.shop, f"admin:{name}", *args)

    def get(self, name: str = "index", /, *args: object, **query: Any) -> Response:
        return self.open(self.url(name, *args), **query)

    def open(self, address: str, **query: Any) -> Response:
        """Follow a link."""
        answer = self.http.get(address, query)
        _send_all(answer)
        return answer

    def post(self, name: str, /, *args: object, **data: Any) -> Response:
        answer = self.http.post(self.url(name, *args), data)
        _send_all(answer)
        return answer

    def forge(self, name: str, /, *args: object, **data: Any) -> Response:
        """Send a page's form without having opened the page, with a key that holds."""
        return self.post(
            name, *args, form_key=create_form_key(cast("HttpRequest", SimpleNamespace(user=self.user))), **data
        )

    def form_key(self, name: str, /, *args: object) -> str:
        """The key of a form that works once, as its page carries it."""
        return str(self.get(name, *args).context["form_key"])


PanelWith = Callable[..., Panel]


@pytest.fixture
def panel_with(shop: Shop) -> PanelWith:
    """``panel_with("themes", …)``: somebody in the shop who holds just these permission names."""

    def make(
        *names: str, view_only: Iterable[str] = (), shop: Shop = shop, owner: bool = False, **client: Any
    ) -> Panel:
        return Panel(factories.make_member(shop, *names, view_only=view_only, owner=owner), shop, **client)

    return make


@pytest.fixture
def owner(panel_with: PanelWith) -> Panel:
    """The account owner."""
    return panel_with(owner=True)


@pytest.fixture
def operator(shop: Shop) -> Panel:
    """The operator of the installation, in the shop."""
    return Panel(factories.UserFactory.create(email="operator@example.com", is_superuser=True), shop)


def _send_all(answer: HttpResponseBase) -> None:
    """A server sends all; the test client leaves an answer open where nobody reads."""
    if isinstance(answer, StreamingHttpResponse):
        answer.streaming_content = [answer.getvalue()]


def streamed(answer: HttpResponseBase) -> bytes:
    """All that an answer sends bit by bit."""
    assert isinstance(answer, StreamingHttpResponse)
    return answer.getvalue()


def place_of(user: User, shop: Shop) -> Membership:
    with shop_scope(shop):
        return Membership.objects.get(user=user)
