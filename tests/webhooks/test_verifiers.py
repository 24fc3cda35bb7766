import base64
import json
import re
import subprocess
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings
from standardwebhooks import Webhook, WebhookVerificationError

from apps.core.tenancy.models import Installation, Shop
from apps.core.types import Attrs
from apps.demo.webhook_receiver import WebhookReceiver
from tests.support.webhooks import create_blogs, make_subscription, run_dispatchers, wait_until_settled

PAGE = (django_settings.BASE_DIR / "docs" / "webhooks.md").read_text()
pytestmark = pytest.mark.django_db(transaction=True)
Sent = tuple[str, dict[str, str], bytes]


@pytest.fixture
def sent_delivery(shop: Shop, installation: Installation, settings: Settings, allow_loopback: None) -> Sent:
    settings.BRAND = "shopify"
    with WebhookReceiver([installation.app.api_secret]) as catcher, run_dispatchers():
        make_subscription(installation, catcher.url, name="mine")
        create_blogs(shop, title="Müsli")
        (caught,) = catcher.wait_for(1)
        wait_until_settled(shop)
    return installation.app.api_secret, dict(caught.headers), caught.body


def test_the_library_of_standard_webhooks_verifies_them(sent_delivery: Sent) -> None:
    secret, headers, body = sent_delivery
    receiver, stranger = (Webhook(f"whsec_{base64.b64encode(key.encode()).decode()}") for key in (secret, "another"))

    assert receiver.verify(body, headers)["title"] == "Müsli 0"
    for wrong_receiver, wrong_body in ((receiver, body + b" "), (stranger, body)):
        with pytest.raises(WebhookVerificationError):
            wrong_receiver.verify(wrong_body, headers)


def get_snippet(language: str) -> str:
    (code,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return str(code)


def test_docs_list_every_header(sent_delivery: Sent) -> None:
    _, headers, _ = sent_delivery
    section = PAGE.split("## Headers")[1].split("## ")[0].replace("X-Platform-", "X-Shopify-")
    documented = set(re.findall(r"`((?:X-|Content-|webhook-)[A-Za-z0-9-]+)`", section))

    sent_names = {name for name in headers if name.startswith(("X-", "webhook-")) or name == "Content-Type"}
    # Only replays have this header.
    assert documented == {*sent_names, "X-Shopify-Redelivery"}


def test_documented_python_line_verifies_deliveries(sent_delivery: Sent) -> None:
    secret, headers, body = sent_delivery
    scope: Attrs = {}
    exec(get_snippet("py"), scope)

    assert scope["verify"](secret, body, headers)["title"] == "Müsli 0"
    for wrong_secret, wrong_body in ((secret, body + b" "), ("another", body)):
        with pytest.raises(WebhookVerificationError):
            scope["verify"](wrong_secret, wrong_body, headers)


@pytest.mark.usefixtures("node_packages")
def test_documented_node_line_verifies_deliveries(sent_delivery: Sent) -> None:
    secret, headers, body = sent_delivery
    text = body.decode()
    cases = [(secret, text, headers), (secret, f"{text} ", headers), ("another", text, headers)]
    program = """
const check = (values) => { try { return verify(...values).title; } catch (error) { return error.name; } };
console.log(JSON.stringify(JSON.parse(process.argv[1]).map(check)));
"""

    command = ["node", "-e", get_snippet("cjs") + program, json.dumps(cases)]
    process = subprocess.run(command, capture_output=True, text=True, check=True, cwd=django_settings.BASE_DIR)

    assert json.loads(process.stdout) == ["Müsli 0", "WebhookVerificationError", "WebhookVerificationError"]


@pytest.mark.usefixtures("node_packages")
def test_the_node_client_verifies_them(sent_delivery: Sent) -> None:
    secret, headers, body = sent_delivery
    calls = [(headers, body.decode()), (headers, body.decode() + " ")]

    script = Path(__file__).with_name("verify.cjs")
    process = subprocess.run(["node", script, secret, json.dumps(calls)], capture_output=True, text=True, check=True)
    genuine, forged = json.loads(process.stdout)

    assert genuine["valid"], genuine
    assert (genuine["topic"], genuine["domain"]) == ("BLOGS_CREATE", headers["X-Shopify-Shop-Domain"])
    assert (genuine["apiVersion"], genuine["webhookId"]) == ("2026-10", headers["X-Shopify-Webhook-Id"])
    assert not forged["valid"]
