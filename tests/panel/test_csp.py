"""Tests for the panel's content security policy, which only allows the panel's scripts."""

import pytest
from django.conf import settings
from django.test import Client

from tests.panel.conftest import PASSWORD, Panel


def get_script_sources(header: str) -> list[str]:
    """Return the policy's script sources."""
    directives = [part.split() for part in header.split(";")]
    return next(values for name, *values in directives if name == "script-src")


@pytest.mark.parametrize("secure", [False, True])
def test_scripts_come_from_the_path_of_our_own_static_files_alone(owner_client: Panel, secure: bool) -> None:
    response = owner_client.http.get(owner_client.url("index"), secure=secure, headers={"host": "localhost:8443"})

    scheme = "https" if secure else "http"
    assert get_script_sources(response["Content-Security-Policy"]) == [
        f"{scheme}://localhost:8443/static/",
        f"{scheme}://localhost:8443/s/acme/admin/jsi18n/",
        "'unsafe-eval'",
    ]


def test_pages_outside_of_the_panel_have_the_same_policy(db: None) -> None:
    response = Client().get("/accounts/login/")

    assert get_script_sources(response["Content-Security-Policy"])[0] == "http://testserver/static/"


def test_pages_cannot_be_framed_and_no_script_reads_the_session(owner_client: Panel) -> None:
    pages = [owner_client.http.get(owner_client.url("index")), Client().get("/accounts/login/")]

    for page in pages:
        assert "frame-ancestors 'none'" in page["Content-Security-Policy"]
        assert page["X-Frame-Options"] == "DENY"
    owner_client.user.set_password(PASSWORD)
    owner_client.user.save()
    browser = Client()
    browser.post("/accounts/login/", {"login": owner_client.user.email, "password": PASSWORD})
    session = browser.cookies[settings.SESSION_COOKIE_NAME]
    assert (session["httponly"], session["samesite"]) == (True, "Lax")
