"""Tests for email without a configured mail server: only the demo prints links."""

import logging
import re
from pathlib import Path

import pytest
from django.core import mail
from django.test import Client
from pytest_django import Settings

from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.models import Customer
from backoffice.email_backend import MailNotConfigured
from tests.support.api_client import ApiClient
from tests.support.factories import make_member
from tests.support.panel.client import PASSWORD

MESSAGE = ("Subject", "Follow https://backoffice.example/secret-link", "a@example.com", ["b@example.com"])


@pytest.fixture(autouse=True)
def _no_mail_server(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.EMAIL_BACKEND = "backoffice.email_backend.DemoEmailBackend"
    settings.DATA_DIR = tmp_path
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", "backoffice.sqlite")


def test_the_demo_prints_mails_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "demo-password").write_text("x")

    assert mail.send_mail(*MESSAGE) == 1

    printed = capsys.readouterr().out
    assert "secret-link" in printed
    assert "Demo: emails are printed here" in printed


def test_outside_of_the_demo_no_link_is_printed_and_sending_fails(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(MailNotConfigured, match="set EMAIL_URL"):
        mail.send_mail(*MESSAGE)

    assert "secret-link" not in "".join(capsys.readouterr())


def test_an_invitation_that_cannot_be_sent_says_why_and_logs_no_link(
    api: ApiClient, shop: Shop, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    response = api.post("customers.json", {"customer": {"email": "a@example.com", "send_email_invite": True}})
    with shop_scope(shop):
        job = Job.objects.get(task="customers.send_invitation")
        assert queue.run_job(job.key)
        job.refresh_from_db()
        nonce = Customer.objects.get(pk=response.json()["customer"]["id"]).activation_nonce

    assert (job.state, job.error) == (Job.State.WAITING, "Email can't be sent: set EMAIL_URL.")
    assert nonce not in caplog.text + "".join(capsys.readouterr())


def test_an_unsent_reset_answers_as_usual(client: Client, shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    user = make_member(shop, email="kim@example.com")
    user.set_password(PASSWORD)
    user.save()

    responses = [client.post("/accounts/password/reset/", {"email": email}) for email in (user.email, "no@example.com")]

    answers = {(response.status_code, response.headers["Location"]) for response in responses}
    assert answers == {(302, "/accounts/password/reset/done/")}
    assert "set EMAIL_URL" in caplog.text
    assert not re.search("/password/reset/key/", caplog.text)
