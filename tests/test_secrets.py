"""Tests that logs, events, jobs, stored responses and the cache contain no secrets after all flows with secrets.

See check A11 in docs/reliability.md.
"""

import base64
import logging
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import decrypt
from django.apps import apps
from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.utils import timezone

from apps.core.events.recording import record_event
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.rest.models import IdempotencyKey
from apps.core.tenancy.models import App, Shop, User
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.shops.domain import app_installation, app_secrets
from backoffice.observability.logs import LineFormatter, get_logging_settings
from tests.shops.test_oauth import REDIRECT, OAuthFlow
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.panel.client import Panel, get_totp_code
from tests.support.timing import wait_until

STAFF_PASSWORD = "planted-staff-secret-5417"
WRONG_PASSWORD = "planted-wrong-secret-9023"
NEW_PASSWORD = "planted-newer-secret-7741"
BUYER_PASSWORD = "planted-buyer-secret-3308"
ACTIVATED_PASSWORD = "planted-activated-secret-6152"
WRONG_TOKEN = "bko_planted-wrong-token-1187"
WRONG_SECRET = "bks_planted-wrong-secret-4471"
KEY = {"idempotency_key": "once"}


class LogCollector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.setFormatter(LineFormatter())
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(self.format(record))


@pytest.fixture
def log_collector() -> Iterator[LogCollector]:
    """Yield a handler that collects all lines that are logged with ``BACKOFFICE_LOG_LEVEL=DEBUG``."""
    logging_settings: Any = get_logging_settings("DEBUG")
    levels = {"": "DEBUG", **{name: values["level"] for name, values in logging_settings["loggers"].items()}}
    before = {name: logging.getLogger(name).level for name in levels}
    listener = LogCollector()
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    logging.root.addHandler(listener)
    yield listener
    logging.root.removeHandler(listener)
    for name, old in before.items():
        logging.getLogger(name).setLevel(old)


def run_staff_flow(shop: Shop) -> set[str]:
    """Use passwords, a second factor and a new app as a staff member; return the secrets that were used."""
    user: User = factories.make_member(shop, owner=True, email="kim@example.com")
    user.set_password(STAFF_PASSWORD)
    user.save()
    browser = Client()
    browser.post("/accounts/login/", {"login": user.email, "password": WRONG_PASSWORD})
    browser.post("/accounts/login/", {"login": "nobody@example.com", "password": WRONG_PASSWORD})
    assert browser.post("/accounts/login/", {"login": user.email, "password": STAFF_PASSWORD}).status_code == 302
    browser.post("/accounts/reauthenticate/", {"password": STAFF_PASSWORD})
    secret = str(browser.get("/accounts/2fa/totp/activate/").context["form"].secret)
    browser.post("/accounts/2fa/totp/activate/", {"code": get_totp_code(secret)})
    seed = decrypt(Authenticator.objects.get(user=user, type=Authenticator.Type.RECOVERY_CODES).data["seed"])
    codes = set(browser.get("/accounts/2fa/recovery-codes/").context["unused_codes"])
    changed = {"oldpassword": STAFF_PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    browser.post("/accounts/password/change/", changed)
    user.refresh_from_db()
    assert user.check_password(NEW_PASSWORD)
    add = f"/s/{shop.handle}/admin/shops/installation/add/"
    form = {"form_key": browser.get(add).context["form_key"], "name": "App", "scope_customers": "read"}
    page = browser.post(add, form, follow=True)
    token = re.search(r"bko_[\w-]{20,}", page.text)
    assert token
    assert Client(headers={"X-Platform-Access-Token": token[0]}).get("/admin/api/2026-10/shop.json").status_code == 200
    with all_shops_scope():
        secrets = set(App.objects.values_list("api_secret", flat=True))
    return {STAFF_PASSWORD, WRONG_PASSWORD, NEW_PASSWORD, secret, seed, token[0], *codes, *secrets}


def run_customer_flow(api: ApiClient, shop: Shop) -> set[str]:
    """Create, invite and activate customers, and run all jobs; return the secrets that were used."""
    password = {"password": BUYER_PASSWORD, "password_confirmation": BUYER_PASSWORD}
    response = api.post("customers.json", {"customer": {"email": "a@example.com", **password}}, idempotency_key="first")
    assert response.status_code == 201
    invited = api.post("customers.json", {"customer": {"email": "b@example.com", "send_email_invite": True}}, **KEY)
    path = f"customers/{invited.json()['customer']['id']}"
    assert api.post(f"{path}/send_invite.json", {"customer_invite": {}}, idempotency_key="second").status_code == 201
    with shop_scope(shop):
        keys = list(Job.objects.values_list("key", flat=True))
    for key in keys:
        queue.run_job(key)
    url = str(api.post(f"{path}/account_activation_url.json", idempotency_key="third").json()["account_activation_url"])
    page = url.removeprefix(settings.BASE_URL)
    assert Client().get(page).status_code == 200
    password_form = {"password": ACTIVATED_PASSWORD, "password_confirmation": ACTIVATED_PASSWORD}
    assert Client().post(page, {**password_form, "password_confirmation": "another"}).status_code < 500
    assert Client().post(f"{page}x", password_form).status_code in {400, 404, 410}
    assert Client().post(page, password_form).status_code in {200, 302}
    # Django logs this line if a page raises an error.
    logging.getLogger("django.request").error("Internal Server Error: %s", page)
    api.get(f"{path}.json")
    api.put(f"{path}.json", {"customer": password})
    return {BUYER_PASSWORD, ACTIVATED_PASSWORD, page.rstrip("/").rsplit("/", 1)[1]}


def run_app_flow(api: ApiClient) -> set[str]:
    path = "/admin/api/2026-10/shop.json"
    for token in (WRONG_TOKEN, api.token):
        for headers in ({"X-Platform-Access-Token": token}, {"Authorization": f"Bearer {token}"}):
            Client(headers=headers).get(path)
        Client().get(path, {"access_token": token})
        client = Client(headers={"X-Platform-Access-Token": token})
        client.post(path.replace("shop", "orders"), b"{", "application/json")
    return {WRONG_TOKEN, api.token}


def run_authorization_flow(shop: Shop) -> set[str]:
    """Exchange one of two authorization codes, send correct and wrong client secrets, and return all secrets."""
    app = app_installation.create_app(name="Asks", distribution="public", redirect_urls=[REDIRECT])
    flow = OAuthFlow(app, Panel(factories.make_member(shop, "applications"), shop))
    fetched = flow.code()
    token = str(flow.exchange(fetched).json()["access_token"])
    unused_code = flow.code()
    assert flow.exchange(unused_code, client_secret=WRONG_SECRET).status_code == 401
    assert flow.exchange(fetched).status_code == 400
    old = app.api_secret
    new = app_secrets.rotate_secret(app, at=timezone.now())
    return {fetched, unused_code, token, old, new, WRONG_SECRET}


def read_stored_texts() -> Iterator[tuple[str, str]]:
    for model in apps.get_models():
        if model._meta.managed:
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT * FROM {connection.ops.quote_name(model._meta.db_table)}")
                yield from ((model._meta.label, " ".join(map(_get_text, row))) for row in cursor.fetchall())
    yield from (("what a session says", repr(session.get_decoded())) for session in Session.objects.all())
    behind: Any = getattr(cache, "_cache")  # noqa: B009 - any kind of cache
    if isinstance(behind, dict):
        yield from (("the cache", f"{name} {value!r}") for name, value in behind.items())
    else:
        client = behind.get_client(None)
        for name in client.scan_iter(f"*{settings.CACHES['default']['KEY_PREFIX']}*"):
            read_key = client.get if client.type(name) == b"string" else client.hgetall
            yield "the cache", f"{name!r} {read_key(name)!r}"


def _get_text(value: Any) -> str:
    """Return a column's value as text. Bytes are decompressed and decoded."""
    if not isinstance(value, bytes | memoryview):
        return str(value)
    raw = bytes(value)
    with suppress(zlib.error):
        raw = zlib.decompress(raw, wbits=zlib.MAX_WBITS | 32)
    return raw.decode("utf-8", "replace")


def find_secrets(secrets: set[str], listener: LogCollector) -> list[str]:
    texts = [("a log", line) for line in listener.heard] + list(read_stored_texts())
    base64_texts = {base64.b64encode(secret.encode()).decode().rstrip("=") for secret in secrets}
    spellings = secrets | {quote(secret, safe="") for secret in secrets} | base64_texts
    # The digits of a code can also be part of a digest.
    words = [rf"(?<![0-9A-Za-z]){text}(?![0-9A-Za-z])" if text.isdigit() else re.escape(text) for text in spellings]
    pattern = re.compile("|".join(words))
    matches = {(location, match[0]) for location, text in texts for match in pattern.finditer(text)}
    return [f"{location} holds {secret}" for location, secret in sorted(matches)]


def test_logs_and_rows_contain_no_secret(api: ApiClient, shop: Shop, log_collector: LogCollector) -> None:
    secrets = run_staff_flow(shop) | run_customer_flow(api, shop) | run_app_flow(api) | run_authorization_flow(shop)

    assert len(secrets) > 15
    assert find_secrets(secrets, log_collector) == []


def test_a_secret_is_found_wherever_it_is_kept(shop: Shop, log_collector: LogCollector) -> None:
    """Check that secrets are found in logs, job arguments, events, sessions, stored responses and the cache."""
    logging.getLogger("apps.anything").debug("said %s", "planted-1")
    logging.getLogger("django.request").error("failed: /a/planted-2")
    with shop_scope(shop):
        queue.enqueue("orders.send_cancellation", word="planted-3")
        record_event("shop/update", shop, actor="x", at=timezone.now(), changes={"name": ["", "planted-4"]})
    session = Client().session
    session["word"] = "planted-5"
    session.save()
    stored = {"installation": factories.make_installation(shop), "body": zlib.compress(b"planted-8")}
    IdempotencyKey._base_manager.create(shop=shop, key="k", **stored)

    def found() -> set[str]:
        # Set the key in each attempt, because another test process may clear the cache.
        cache.set("planted-6", "planted-7")
        return {line[-1] for line in find_secrets({f"planted-{number}" for number in range(1, 9)}, log_collector)}

    wait_until(found, set("12345678").__eq__)
