"""Tests that staff can only log in at the installation's domain, and that links in emails use this domain."""

import re

import pytest
from django.core import mail
from django.test import Client
from pytest_django import Settings

from apps.core.tenancy.models import Shop
from tests.customers.test_accounts import run_jobs
from tests.support.api_client import ApiClient
from tests.support.panel.client import Panel, PanelWith

OWN = "https://backoffice.example"
LINK = re.compile(r"\S+://\S+")


@pytest.fixture(autouse=True)
def _own_address(settings: Settings) -> None:
    settings.BASE_URL = OWN


@pytest.fixture
def shop_host_headers(shop: Shop) -> dict[str, str]:
    """Return request headers with the shop's domain as the host."""
    return {"Host": shop.domain}


@pytest.mark.parametrize("path", ["/accounts/login/", "/accounts/password/reset/", "/admin/", "/s/acme/admin/"])
def test_a_shops_domain_leads_to_the_own_address(shop_host_headers: dict[str, str], path: str) -> None:
    response = Client().get(f"{path}?next=/x", headers=shop_host_headers)

    assert (response.status_code, response.headers["Location"]) == (302, f"{OWN}{path}?next=/x")


@pytest.mark.parametrize("path", ["/accounts/login/", "/accounts/password/reset/"])
def test_forms_on_a_shops_domain_are_404(owner_client: Panel, shop_host_headers: dict[str, str], path: str) -> None:
    email = owner_client.user.email

    assert Client().post(path, {"email": email, "login": email}, headers=shop_host_headers).status_code == 404
    assert mail.outbox == []


def test_the_interface_answers_under_a_shops_domain(api: ApiClient, shop_host_headers: dict[str, str]) -> None:
    assert api.http.get(api.path("shop.json"), headers=shop_host_headers).status_code == 200


def get_mail_links() -> list[str]:
    """Return the links in the only email, after checking that the subject does not contain the request's host."""
    (message,) = mail.outbox
    assert "localhost" not in message.subject
    return LINK.findall(str(message.body))


def test_a_reset_link_does_not_follow_the_host_header(owner_client: Panel) -> None:
    Client().post("/accounts/password/reset/", {"email": owner_client.user.email}, headers={"Host": "localhost:6666"})

    (link,) = get_mail_links()
    assert link.startswith(f"{OWN}/accounts/password/reset/key/")
    page = Client().get(link.removeprefix(OWN), follow=True)
    assert "password1" in page.context["form"].fields


def test_the_link_of_a_staff_invitation_does_not_follow_the_host_header(admin_client_with: PanelWith) -> None:
    panel = admin_client_with(owner=True, headers={"Host": "localhost:6666"})

    panel.post("staff_membership_add", email="new@example.com", first_name="Nia", permissions=["orders"])

    (link,) = get_mail_links()
    assert link.startswith(f"{OWN}/accounts/password/reset/key/")


def test_customer_invitations_ignore_the_host_header(
    api: ApiClient, shop: Shop, shop_host_headers: dict[str, str]
) -> None:
    customer = api.post("customers.json", {"customer": {"email": "bo@example.com"}}).json()["customer"]

    path, json = api.path(f"customers/{customer['id']}/send_invite.json"), "application/json"
    api.http.post(path, b'{"customer_invite": {}}', content_type=json, headers=shop_host_headers)
    run_jobs(shop)

    (link,) = get_mail_links()
    assert link.startswith(f"{OWN}/account/activate/")
