"""Others' libraries verify what we send: that of Standard Webhooks, and the Node client's own check."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from apps.shops.models import Shop
from apps.webhooks.catcher import Catcher
from apps.webhooks.domain.engine.signing import standard_secret
from tests import factories
from tests.webhooks.worlds import dispatching, happen, settled, subscribe

pytestmark = pytest.mark.django_db(transaction=True)
Sent = tuple[str, dict[str, str], bytes]


@pytest.fixture
def sent(shop: Shop, settings: Any) -> Sent:
    """The app's secret, and the headers and body of a delivery, under the name that the client knows."""
    settings.OUTGOING_ALLOW = ["127.0.0.1"]
    settings.BRAND = "shopify"
    installation = factories.make_installation(shop, ["read_content"])
    with Catcher([installation.app.api_secret]) as catcher, dispatching():
        subscribe(installation, catcher.url, name="mine")
        happen(shop, title="Müsli")
        (caught,) = catcher.wait_for(1)
        settled(shop)
    return installation.app.api_secret, dict(caught.headers), caught.body


def test_the_library_of_standard_webhooks_verifies_them(sent: Sent) -> None:
    secret, headers, body = sent
    receiver = Webhook(standard_secret(secret))

    assert receiver.verify(body, headers)["title"] == "Müsli 0"
    with pytest.raises(WebhookVerificationError):
        receiver.verify(body + b" ", headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(standard_secret("another")).verify(body, headers)


@pytest.mark.usefixtures("node_packages")
def test_the_node_client_verifies_them(sent: Sent) -> None:
    secret, headers, body = sent
    calls = [(headers, body.decode()), (headers, body.decode() + " ")]

    script = Path(__file__).with_name("verify.cjs")
    done = subprocess.run(["node", script, secret, json.dumps(calls)], capture_output=True, text=True, check=True)
    genuine, forged = json.loads(done.stdout)

    assert genuine["valid"], genuine
    assert (genuine["topic"], genuine["domain"]) == ("BLOGS_CREATE", headers["X-Shopify-Shop-Domain"])
    assert (genuine["apiVersion"], genuine["webhookId"]) == ("2026-07", headers["X-Shopify-Webhook-Id"])
    assert not forged["valid"]
