import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import Client

from apps.core.admin.forms.idempotency import create_form_key
from apps.core.admin.reverse import get_panel_url
from apps.core.tenancy.models import Membership, Shop, User
from apps.core.tenancy.scope import shop_scope
from tests.support.api_client import Response

PASSWORD = "correct horse battery"


class Panel:
    def __init__(self, user: User, shop: Shop, **client: Any) -> None:
        self.user, self.shop = user, shop
        self.http = Client(**client)
        self.http.force_login(user)

    def url(self, name: str = "index", /, *args: object) -> str:
        return get_panel_url(self.shop, f"admin:{name}", *args)

    def get(self, name: str = "index", /, *args: object, **query: Any) -> Response:
        return self.open(self.url(name, *args), **query)

    def open(self, address: str, **query: Any) -> Response:
        response = self.http.get(address, query)
        send_all(response)
        return response

    def post(self, name: str, /, *args: object, **data: object) -> Response:
        response = self.http.post(self.url(name, *args), data)
        send_all(response)
        return response

    def forge(self, name: str, /, *args: object, **data: object) -> Response:
        """Submit a page's form with a valid form key, without opening the page first."""
        return self.post(
            name, *args, form_key=create_form_key(cast("HttpRequest", SimpleNamespace(user=self.user))), **data
        )

    def form_key(self, name: str, /, *args: object) -> str:
        """Return the single-use form key that the page contains."""
        return str(self.get(name, *args).context["form_key"])


PanelWith = Callable[..., Panel]


def send_all(response: HttpResponseBase) -> None:
    """Read a streamed response to the end, as a server does. The test client would leave the stream open."""
    if isinstance(response, StreamingHttpResponse):
        response.streaming_content = [response.getvalue()]


def read_stream(response: HttpResponseBase) -> bytes:
    assert isinstance(response, StreamingHttpResponse)
    return response.getvalue()


def get_membership(user: User, shop: Shop) -> Membership:
    with shop_scope(shop):
        return Membership.objects.get(user=user)


def get_totp_code(secret: str) -> str:
    """Return a code that is valid for at least five more seconds."""
    left = 30 - time.time() % 30
    if left < 5:
        time.sleep(left)
    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30)))
