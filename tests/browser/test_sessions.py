"""Tests for sessions that end while a user is typing: no input is lost, and no other user sees the input."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone
from playwright.sync_api import Page, expect

from apps.catalog.models import Product
from apps.content.domain import articles, blob_store, blogs, themes
from apps.content.models import Article, Asset, Theme
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from apps.staff.models import User
from tests import factories
from tests.browser.conftest import BrowserPage, Open
from tests.catalog.factories import make_product
from tests.content.conftest import LAYOUT

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PASSWORD = "correct horse battery"
TYPED = "Typed before the session ended"


@dataclass
class EditCase:
    """An edit form: where to type, how to save, and how to read the stored text."""

    page: tuple[object, ...]
    query: str
    field: str
    button: str
    stored: Callable[[], str]


def _edit_product(shop: Shop) -> EditCase:
    product = make_product()
    return EditCase(
        ("catalog_product_change", product.pk),
        "",
        "Title",
        "Save",
        lambda: Product.objects.get(pk=product.pk).title,
    )


def _edit_article(shop: Shop) -> EditCase:
    blog = blogs.create_blog({"title": "News"}, actor="system", at=timezone.now())
    article = articles.create_article(blog.pk, {"title": "Hello"}, actor="system", at=timezone.now())
    return EditCase(
        ("content_article_change", article.pk),
        "",
        "Title",
        "Save",
        lambda: Article.objects.get(pk=article.pk).title,
    )


def _edit_theme_file(shop: Shop) -> EditCase:
    draft = themes.duplicate_theme(Theme.objects.get(role="main"), name="Draft", actor="system", at=timezone.now())

    def stored() -> str:
        return blob_store.read_blob(
            Asset.objects.select_related("content").get(theme=draft, key=LAYOUT).content
        ).decode()

    return EditCase(("content_theme_code", draft.pk), f"?key={LAYOUT}", f"Content of {LAYOUT}", "Save", stored)


EDITS = [pytest.param(make, id=make.__name__[1:]) for make in (_edit_product, _edit_article, _edit_theme_file)]


@pytest.fixture
def owner_with_password(owner: User) -> User:
    """Return the owner after setting a password."""
    owner.set_password(PASSWORD)
    owner.save()
    return owner


def open_and_type(window: BrowserPage, edit: EditCase) -> Page:
    """Open the edit form and type text."""
    page = window.go(*edit.page)  # type: ignore[arg-type]
    if edit.query:
        page.goto(page.url + edit.query)
    page.get_by_role("textbox", name=edit.field).first.fill(TYPED)
    return page


def save_form(page: Page, edit: EditCase) -> None:
    page.get_by_role("button", name=edit.button, exact=True).first.click()


def log_in_again(page: Page, email: str) -> None:
    """Log in through the page's link to the login page, in a new tab, and close the tab."""
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Open the login page in a new tab").click()
    login_page = opened.value
    login_page.get_by_label("Email").fill(email)
    login_page.get_by_label("Password", exact=False).first.fill(PASSWORD)
    login_page.get_by_role("button", name="Log in", exact=True).click()
    expect(login_page.get_by_role("heading", name="You are logged in again")).to_be_visible()
    login_page.close()
    page.bring_to_front()


@pytest.mark.parametrize("make", EDITS)
def test_what_was_typed_is_saved_after_a_login_in_another_tab(
    logged_in_page: Open, committed_shop: Shop, owner_with_password: User, make: Callable[[Shop], EditCase]
) -> None:
    with shop_scope(committed_shop):
        edit = make(committed_shop)
        before = edit.stored()
    window = logged_in_page(owner_with_password, committed_shop)
    page = open_and_type(window, edit)
    Session.objects.all().delete()

    save_form(page, edit)
    expect(page.get_by_role("dialog", name="You are no longer logged in")).to_be_visible()
    with shop_scope(committed_shop):
        assert edit.stored() == before
    with page.expect_navigation():
        log_in_again(page, owner_with_password.email)
        page.get_by_role("button", name="I am logged in again").click(force=True, no_wait_after=True)

    expect(page.get_by_role("main")).to_be_visible()
    with shop_scope(committed_shop):
        assert edit.stored() == TYPED
    assert window.problems == []


@pytest.mark.parametrize("make", EDITS)
def test_typed_text_is_hidden_from_another_user_who_logs_in(
    logged_in_page: Open, committed_shop: Shop, owner_with_password: User, make: Callable[[Shop], EditCase]
) -> None:
    colleague = factories.make_member(committed_shop, owner=True, email="sam@example.com")
    colleague.set_password(PASSWORD)
    colleague.save()
    with shop_scope(committed_shop):
        edit = make(committed_shop)
        before = edit.stored()
    page = open_and_type(logged_in_page(owner_with_password, committed_shop), edit)
    Session.objects.all().delete()

    save_form(page, edit)
    log_in_again(page, colleague.email)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(page.get_by_role("dialog", name="Another user is logged in now")).to_be_visible()
    page_text = page.content() + page.evaluate(
        "[...document.querySelectorAll('input, textarea')].map(e => e.value).join()"
    )
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Reload page").click()
    expect(page.get_by_role("textbox", name=edit.field).first).to_be_visible()

    form_values = page.evaluate("[...document.querySelectorAll('input, textarea')].map(e => e.value).join()")
    session_storage = page.evaluate("JSON.stringify(sessionStorage)")
    assert TYPED not in page_text + form_values + session_storage
    with shop_scope(committed_shop):
        assert edit.stored() == before


def test_a_login_that_changed_the_token_of_an_open_page_does_not_stop_it(
    logged_in_page: Open, committed_shop: Shop, owner_with_password: User
) -> None:
    with shop_scope(committed_shop):
        edit = _edit_product(committed_shop)
    window = logged_in_page(owner_with_password, committed_shop)
    page = open_and_type(window, edit)
    page.evaluate("document.querySelectorAll('[name=csrfmiddlewaretoken]').forEach(e => { e.value = 'x'.repeat(64); })")

    with page.expect_navigation():
        save_form(page, edit)

    with shop_scope(committed_shop):
        assert edit.stored() == TYPED


def test_a_server_that_is_away_loses_nothing(
    logged_in_page: Open, committed_shop: Shop, owner_with_password: User
) -> None:
    with shop_scope(committed_shop):
        edit = _edit_product(committed_shop)
    page = open_and_type(logged_in_page(owner_with_password, committed_shop), edit)
    page.context.set_offline(True)

    save_form(page, edit)
    expect(page.get_by_role("dialog", name="The server is not responding")).to_be_visible()
    page.context.set_offline(False)
    with page.expect_navigation():
        page.get_by_role("button", name="Try again").click()

    with shop_scope(committed_shop):
        assert edit.stored() == TYPED


@pytest.mark.parametrize("width", [1400, 390])
def test_the_dialog_is_accessible(
    logged_in_page: Open, committed_shop: Shop, owner_with_password: User, width: int, axe: None
) -> None:
    with shop_scope(committed_shop):
        edit = _edit_product(committed_shop)
    window = logged_in_page(owner_with_password, committed_shop, viewport={"width": width, "height": 800})
    page = open_and_type(window, edit)
    Session.objects.all().delete()

    save_form(page, edit)
    expect(page.get_by_role("dialog", name="You are no longer logged in")).to_be_visible()

    assert window.barriers() == []
