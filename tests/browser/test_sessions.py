from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django import Settings

from apps.catalog.models import Product
from apps.content.domain import articles, blob_store, blogs, themes
from apps.content.models import Article, Asset, Theme
from apps.core.tenancy.models import Shop, User
from tests.support import factories
from tests.support.browser.pages import BrowserPage, Open
from tests.support.factories.catalog import make_product
from tests.support.factories.content import LAYOUT

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PASSWORD = "correct horse battery"
VALUES = "[...document.querySelectorAll('input, textarea')].map(e => e.value).join()"
TYPED = "Typed before the session ended"


@dataclass
class EditCase:
    page: tuple[object, ...]
    query: str
    field: str
    stored: Callable[[], str]


def _edit_product() -> EditCase:
    product = make_product()
    return EditCase(
        ("catalog_product_change", product.pk), "", "Title", lambda: Product.objects.get(pk=product.pk).title
    )


def _edit_article() -> EditCase:
    blog = blogs.create_blog({"title": "News"}, actor="system", at=timezone.now())
    article = articles.create_article(blog.pk, {"title": "Hello"}, actor="system", at=timezone.now())
    return EditCase(
        ("content_article_change", article.pk), "", "Title", lambda: Article.objects.get(pk=article.pk).title
    )


def _edit_theme_file() -> EditCase:
    draft = themes.duplicate_theme(Theme.objects.get(role="main"), name="Draft", actor="system", at=timezone.now())

    def stored() -> str:
        asset = Asset.objects.select_related("content").get(theme=draft, key=LAYOUT)
        return blob_store.read_blob(asset.content).decode()

    return EditCase(("content_theme_code", draft.pk), f"?key={LAYOUT}", f"Content of {LAYOUT}", stored)


EDITS = [pytest.param(make, id=make.__name__[1:]) for make in (_edit_product, _edit_article, _edit_theme_file)]


@pytest.fixture
def owner(owner: User) -> User:
    owner.set_password(PASSWORD)
    owner.save()
    return owner


def open_and_type(window: BrowserPage, edit: EditCase) -> Page:
    page = window.go(*edit.page)  # type: ignore[arg-type]
    if edit.query:
        page.goto(page.url + edit.query)
    page.get_by_role("textbox", name=edit.field).first.fill(TYPED)
    return page


def save_form(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).first.click()


def log_in(page: Page, email: str = "kim@example.com") -> None:
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password", exact=False).first.fill(PASSWORD)
    page.get_by_role("button", name="Log in", exact=True).click()


def log_in_again(page: Page, email: str) -> None:
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Open the login page in a new tab").click()
    login_page = opened.value
    log_in(login_page, email)
    expect(login_page.get_by_role("heading", name="You are logged in again")).to_be_visible()
    login_page.close()
    page.bring_to_front()


@pytest.mark.parametrize("make", EDITS)
def test_typed_text_is_saved_after_a_login_in_another_tab(
    logged_in_page: Open, committed_shop: Shop, owner: User, make: Callable[[], EditCase]
) -> None:
    edit = make()
    before = edit.stored()
    window = logged_in_page(owner, committed_shop)
    page = open_and_type(window, edit)
    Session.objects.all().delete()

    save_form(page)
    expect(page.get_by_role("dialog", name="You are no longer logged in")).to_be_visible()
    expect(page.get_by_role("button", name="I am logged in again")).to_be_visible()
    assert edit.stored() == before
    with page.expect_navigation():
        log_in_again(page, owner.email)
        # The page may notice the login by itself.
        page.evaluate("document.querySelector('[data-session=again]')?.click()")

    expect(page.get_by_role("main")).to_be_visible()
    assert edit.stored() == TYPED
    assert window.problems == []


@pytest.mark.parametrize("make", EDITS)
def test_typed_text_is_hidden_from_another_user_who_logs_in(
    logged_in_page: Open, committed_shop: Shop, owner: User, make: Callable[[], EditCase]
) -> None:
    colleague = factories.make_member(committed_shop, owner=True, email="sam@example.com")
    colleague.set_password(PASSWORD)
    colleague.save()
    edit = make()
    before = edit.stored()
    page = open_and_type(logged_in_page(owner, committed_shop), edit)
    Session.objects.all().delete()

    save_form(page)
    log_in_again(page, colleague.email)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(page.get_by_role("dialog", name="Another user is logged in now")).to_be_visible()
    page_text = page.content() + page.evaluate(VALUES)
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Reload page").click()
    expect(page.get_by_role("textbox", name=edit.field).first).to_be_visible()

    assert TYPED not in page_text + page.evaluate(VALUES) + page.evaluate("JSON.stringify(sessionStorage)")
    assert edit.stored() == before


def test_open_pages_survive_a_new_token(logged_in_page: Open, committed_shop: Shop, owner: User) -> None:
    edit = _edit_product()
    window = logged_in_page(owner, committed_shop)
    page = open_and_type(window, edit)
    page.evaluate("document.querySelectorAll('[name=csrfmiddlewaretoken]').forEach(e => { e.value = 'x'.repeat(64); })")

    with page.expect_navigation():
        save_form(page)

    assert edit.stored() == TYPED


def test_a_stopped_server_loses_nothing(logged_in_page: Open, committed_shop: Shop, owner: User) -> None:
    edit = _edit_product()
    page = open_and_type(logged_in_page(owner, committed_shop), edit)
    page.context.set_offline(True)

    save_form(page)
    expect(page.get_by_role("dialog", name="The server is not responding")).to_be_visible()
    page.context.set_offline(False)
    with page.expect_navigation():
        page.get_by_role("button", name="Try again").click()

    assert edit.stored() == TYPED


@pytest.mark.parametrize("width", [1400, 390])
def test_the_dialog_is_accessible(
    logged_in_page: Open, committed_shop: Shop, owner: User, width: int, axe: None
) -> None:
    edit = _edit_product()
    window = logged_in_page(owner, committed_shop, viewport={"width": width, "height": 800})
    page = open_and_type(window, edit)
    Session.objects.all().delete()

    save_form(page)
    expect(page.get_by_role("dialog", name="You are no longer logged in")).to_be_visible()

    assert window.barriers() == []


# A virtual authenticator that works like that of a phone or laptop, with user verification.
DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    **dict.fromkeys(("hasResidentKey", "hasUserVerification", "isUserVerified", "automaticPresenceSimulation"), True),
}


def add_authenticator(page: Page) -> None:
    devices = page.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    devices.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})


def is_panel_page(url: str) -> bool:
    """Return True for the panel's home page. The login URL contains the same path only in the query string."""
    return urlsplit(url).path.endswith("/admin/")


def log_out(window: BrowserPage) -> None:
    page = window.go()
    page.get_by_role("button", name="Kim Lee").press("Enter")
    page.get_by_role("button", name="Log out").press("Enter")
    page.wait_for_url("**/accounts/login/")


def open_add_key_page(window: BrowserPage) -> Page:
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


def test_a_numeric_host_shows_an_error(logged_in_page: Open, committed_shop: Shop, settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    window = logged_in_page(None, committed_shop)
    window.server = window.server.replace("localhost", "127.0.0.1")
    settings.BASE_URL = window.server
    page = window.open("/accounts/login/")

    page.get_by_role("button", name="Log in with a passkey").click()

    expect(page.get_by_role("alert")).to_contain_text("only work on a domain")
