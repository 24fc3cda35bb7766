import os
import socket
import ssl
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.conf import settings
from playwright.sync_api import Browser, Page, expect

from apps.core.tenancy.models import App, Installation, Shop, User
from apps.core.tenancy.scope import shop_scope
from apps.shops.domain import app_installation
from tests.outgoing.test_tls import create_certificate
from tests.support import factories, services
from tests.support.api_client import VERSION
from tests.support.browser.pages import AXE, TAGS
from tests.support.factories.catalog import make_product
from tests.support.servers.live import LiveServer, get_database_url, stop_process
from tests.support.servers.ports import find_free_port
from tests.support.timing import wait_until
from tests.support.types import Json

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import shopify

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("authorizing"),
]
PASSWORD = "correct horse battery"
HOST = "acme.localhost"


@pytest.fixture
def server(transactional_db: None, tmp_path: Path) -> Iterator[LiveServer]:
    running = LiveServer(get_database_url(), tmp_path / "data")
    running.wait()
    yield running
    running.stop()


@pytest.fixture
def shop(server: LiveServer) -> Shop:
    shop_row = factories.make_shop(domain=HOST, name="Acme")
    with shop_scope(shop_row):
        make_product(title="Teapot")
    return shop_row


@pytest.fixture
def person(shop: Shop) -> User:
    user = factories.make_member(shop, "applications", email="ada@example.com")
    user.set_password(PASSWORD)
    user.save()
    return user


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(ignore_https_errors=True)
    yield context.new_page()
    context.close()


def log_in(page: Page, person: User) -> None:
    page.locator("input[name=login]").fill(person.email)
    page.locator("input[name=password]").fill(PASSWORD)
    page.locator("input[name=password]").press("Enter")


class TlsProxy:
    """A proxy that terminates TLS for the shop's domain and forwards bytes."""

    def __init__(self, to: int, folder: Path) -> None:
        self.to, self.file = to, folder / "tls.pem"
        self.file.write_bytes(create_certificate(HOST))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.file)
        self.context, self.open = context, list[socket.socket]()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.listener.getsockname()[1])
        self.threads = [threading.Thread(target=self._serve, daemon=True)]
        self.threads[0].start()

    def _serve(self) -> None:
        while True:
            try:
                plain, _ = self.listener.accept()
            except OSError:
                return
            try:
                near = self.context.wrap_socket(plain, server_side=True)
            except OSError:
                plain.close()
                continue
            far = socket.create_connection(("127.0.0.1", self.to))
            self.open += [near, far]
            for pair in ((near, far), (far, near)):
                thread = threading.Thread(target=_forward_bytes, args=pair, daemon=True)
                self.threads.append(thread)
                thread.start()

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in self.open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(10)
        for connection in self.open:
            connection.close()


def _forward_bytes(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_RDWR)
    except OSError:
        # The other side has disconnected. The code that created the sockets closes them.
        return


@pytest.fixture
def tls_proxy(server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TlsProxy]:
    """Return the proxy. Clients in this process trust the proxy's certificate and resolve the shop's domain."""
    proxy = TlsProxy(server.port, tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(proxy.file))
    look_up = socket.getaddrinfo

    def resolve(host: Any, *args: Any, **kwargs: Any) -> Any:
        return look_up("127.0.0.1" if host == HOST else host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    yield proxy
    proxy.close()


@pytest.fixture
def callback_url() -> Iterator[str]:
    class Thanks(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"thank you")

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    running = ThreadingHTTPServer(("127.0.0.1", 0), Thanks)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}/callback"
    running.shutdown()
    running.server_close()


@pytest.fixture
def app(shop: Shop, callback_url: str) -> App:
    return app_installation.create_app(name="Stock sync", distribution="public", redirect_urls=[callback_url])


@pytest.mark.usefixtures("axe")
def test_the_public_client_library_installs(
    page: Page, person: User, app: App, tls_proxy: TlsProxy, shop: Shop
) -> None:
    setup = {"api_key": app.api_key, "secret": app.api_secret, "myshopify_domain": "localhost", "port": tls_proxy.port}
    shopify.Session.setup(protocol="https", **setup)
    shopify.ApiVersion.coerce_to_version("unstable")
    if VERSION not in shopify.ApiVersion.versions:
        shopify.ApiVersion.define_version(shopify.Release(VERSION))
    session = shopify.Session("acme", VERSION)

    page.goto(session.create_permission_url(["read_products", "write_orders"], app.redirect_urls[0], "a state & more"))
    log_in(page, person)
    expect(page.get_by_role("heading", level=1)).to_have_text("Install Stock sync?")
    page.evaluate(AXE.read_text())
    barriers = page.evaluate(
        "async tags => (await axe.run(document, {runOnly: {type: 'tag', values: tags}})).violations.map(v => v.id)",
        list(TAGS),
    )
    page.get_by_role("button", name="Install app").click()
    expect(page.locator("body")).to_have_text("thank you")
    parameters = dict(parse_qsl(urlsplit(page.url).query))
    forged = {**parameters, "shop": "evil.example"}
    with pytest.raises(shopify.session.ValidationException):
        shopify.Session("acme", VERSION).request_token(forged)
    token = session.request_token(parameters)
    with pytest.raises(urllib.error.HTTPError) as error_info:
        shopify.Session("acme", VERSION).request_token(parameters)
    error_info.value.close()
    shopify.ShopifyResource.activate_session(session)
    titles = [product.title for product in shopify.Product.find()]
    shopify.ShopifyResource.clear_session()

    assert barriers == []
    assert parameters["state"] == "a state & more"
    assert (parameters["shop"], error_info.value.code) == (shop.domain, 400)
    assert token.startswith("bko_")
    assert sorted(session.access_scopes) == ["read_products", "write_orders"]
    assert titles == ["Teapot"]
    with shop_scope(shop):
        assert Installation.objects.get(uninstalled_at=None).scopes == ["read_products", "write_orders"]


def test_canceling_grants_nothing(page: Page, person: User, app: App, server: LiveServer, shop: Shop) -> None:
    query = f"client_id={app.api_key}&redirect_uri={app.redirect_urls[0]}&scope=read_orders"
    page.goto(f"{server.url}/admin/oauth/authorize?{query}")
    log_in(page, person)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("body")).to_have_text("thank you")

    assert dict(parse_qsl(urlsplit(page.url).query))["error"] == "access_denied"
    with shop_scope(shop):
        assert not Installation.objects.exists()


def read_json(page: Page) -> Json:
    return page.evaluate("JSON.parse(document.body.innerText)")


def test_the_sample_app_lists_products_and_gets_webhooks(
    page: Page, person: User, server: LiveServer, shop: Shop
) -> None:
    port = find_free_port()
    own = f"http://127.0.0.1:{port}"
    app = app_installation.create_app(name="Sample", distribution="public", redirect_urls=[f"{own}/callback"])
    keys = {"APP_KEY": app.api_key, "APP_SECRET": app.api_secret, "BACKOFFICE": server.url, "APP": own}
    file = settings.BASE_DIR / "docs" / "samples" / "app.py"
    sample = subprocess.Popen([sys.executable, str(file)], env={**os.environ, **keys, "BRAND": "Shopify"})
    worker = server.start("backoffice.entrypoints.worker", "-B")
    try:
        wait_until(lambda: services.is_listening(port), bool, seconds=60)
        page.goto(f"{own}/")
        log_in(page, person)
        page.get_by_role("button", name="Install app").click()
        page.wait_for_url(f"{own}/products?*")
        products = read_json(page)
        forged = urllib.request.Request(f"{own}/webhooks", b"{}", {"X-Shopify-Hmac-Sha256": "x"})
        with pytest.raises(urllib.error.HTTPError, match="401") as refused:
            urllib.request.urlopen(forged)
        refused.value.close()
        with shop_scope(Shop.objects.get(pk=shop.pk)):
            make_product("Mug")
        new = wait_until(lambda: page.reload() and read_json(page)["new"], bool, seconds=60)
    finally:
        stop_process(worker)
        stop_process(sample)

    assert [product["title"] for product in products["products"]] == ["Teapot"]
    assert (products["new"], new) == ([], ["Mug"])
