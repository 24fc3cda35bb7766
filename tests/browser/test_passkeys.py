"""Tests for passkeys with the browser's virtual authenticator."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.sessions.models import Session
from django.test import Client
from playwright.sync_api import Page, expect

from apps.shops.models import Shop
from apps.staff.models import User
from tests.browser.conftest import BrowserPage, Open

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PASSWORD = "correct horse battery"
# A virtual authenticator that works like that of a phone or laptop, with user verification.
DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def add_authenticator(page: Page, **options: Any) -> None:
    devices = page.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    devices.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE | options})


def is_panel_page(url: str) -> bool:
    """Return True for the panel's home page. The login URL contains the same path only in the query string."""
    return urlsplit(url).path.endswith("/admin/")


def log_in(page: Page) -> None:
    page.get_by_label("Email").fill("kim@example.com")
    page.get_by_label("Password", exact=False).first.fill(PASSWORD)
    page.get_by_role("button", name="Log in", exact=True).click()


def log_out(window: BrowserPage) -> None:
    page = window.go()
    page.get_by_role("button", name="Kim Lee").press("Enter")
    page.get_by_role("button", name="Log out").press("Enter")
    page.wait_for_url("**/accounts/login/")


def open_add_key_page(window: BrowserPage) -> Page:
    """Open the page that adds a passkey, and confirm the password."""
    page = window.open("/accounts/2fa/webauthn/add/")
    page.get_by_label("Password", exact=False).first.fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    page.wait_for_url("**/webauthn/add/")
    return page


def add_key(page: Page, *, passwordless: bool) -> None:
    page.get_by_label("Name").fill("My laptop")
    page.get_by_label("Log in with this passkey").set_checked(passwordless)
    page.get_by_role("button", name="Add").click()
    page.wait_for_url("**/2fa/recovery-codes/")


@pytest.fixture
def window(logged_in_page: Open, committed_shop: Shop, owner: User) -> BrowserPage:
    """Log in with a password on a device that supports passkeys."""
    owner.set_password(PASSWORD)
    owner.save()
    window = logged_in_page(None, committed_shop)
    page = window.open("/s/acme/admin/")
    add_authenticator(page)
    log_in(page)
    page.wait_for_url(is_panel_page)
    return window


@pytest.mark.usefixtures("axe")
def test_a_passkey_is_added_ends_other_sessions_and_logs_in_by_itself(window: BrowserPage, owner: User) -> None:
    other = Client()
    other.force_login(owner)
    assert other.get("/accounts/profile/").status_code == 200
    page = open_add_key_page(window)
    barriers = window.barriers()
    add_key(page, passwordless=True)

    assert not Session.objects.filter(session_key=other.cookies["sessionid"].value).exists()
    assert window.go().url.endswith("/s/acme/admin/")
    page = window.open("/accounts/2fa/webauthn/")
    expect(page.get_by_text("My laptop")).to_be_visible()
    barriers += window.barriers()

    log_out(window)
    barriers += window.barriers()
    page.get_by_role("button", name="Log in with a passkey").click()
    page.wait_for_url(is_panel_page)

    window.go()
    expect(page.get_by_role("heading", name="Kim")).to_be_visible()
    assert barriers == []
    assert window.problems == []


def test_a_security_key_is_asked_for_after_the_password(window: BrowserPage, owner: User) -> None:
    add_key(open_add_key_page(window), passwordless=False)
    log_out(window)

    log_in(window.page)
    window.page.get_by_role("button", name="Use a security key").click()
    window.page.wait_for_url(is_panel_page)

    page = window.open(f"/accounts/2fa/webauthn/keys/{Authenticator.objects.get(type='webauthn').pk}/remove/")
    # A user with a second factor must use the second factor to confirm the removal.
    page.get_by_role("link", name="Use a security key").click()
    page.get_by_role("button", name="Use a security key").click()
    page.get_by_role("button", name="Remove").click()
    page.wait_for_url("**/2fa/webauthn/")
    assert not Authenticator.objects.filter(user=owner, type="webauthn").exists()
    assert window.problems == []


def test_a_missing_passkey_shows_an_error(logged_in_page: Open, committed_shop: Shop, owner: User) -> None:
    window = logged_in_page(None, committed_shop)
    page = window.open("/accounts/login/")
    add_authenticator(page)

    page.get_by_role("button", name="Log in with a passkey").click()

    expect(page.get_by_role("alert")).to_contain_text("there is no passkey for this site")
    assert window.problems == []


def test_a_numeric_host_shows_an_error(logged_in_page: Open, committed_shop: Shop, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    window = logged_in_page(None, committed_shop)
    window.server = window.server.replace("localhost", "127.0.0.1")
    settings.BASE_URL = window.server
    page = window.open("/accounts/login/")

    page.get_by_role("button", name="Log in with a passkey").click()

    expect(page.get_by_role("alert")).to_contain_text("only work on a domain")
