"""Tests for all forms on a phone in German, which has long words: no page is too wide, and no text is cut off."""

import pytest
from django.contrib import admin
from django.urls import NoReverseMatch
from playwright.sync_api import expect

from apps.panel.reverse import get_panel_url
from apps.shops.models import Shop
from apps.staff.models import User
from tests.browser.conftest import Open
from tests.browser.full_shop import create_app_rows, get_pages

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# Return labels, buttons and headings that are cut off. The page header shortens its breadcrumbs on purpose.
CUT = """() => [...document.querySelectorAll('#content :is(label, legend, button, a, h1, h2, h3, dt, p)')]
    .filter(e => e.checkVisibility() && !e.closest('.bo-hidden, .cm-editor, thead'))
    .filter(e => {
        const look = getComputedStyle(e);
        const box = e.getBoundingClientRect();
        const cut = look.overflowX !== 'visible' && look.overflowX !== 'auto' && e.scrollWidth > e.clientWidth + 1;
        return box.width > 1 && (cut || box.right > innerWidth + 1);
    })
    .map(e => `${e.tagName}: ${e.textContent.trim().slice(0, 60)}`)"""
PARTS = 2


def get_add_forms(shop: Shop) -> list[tuple[str, tuple[object, ...]]]:
    """Return the URL name and arguments of every add form."""
    names = [f"{model._meta.app_label}_{model._meta.model_name}_add" for model in admin.site._registry]
    pages: list[tuple[str, tuple[object, ...]]] = []
    for name in names:
        try:
            get_panel_url(shop, f"admin:{name}")
        except NoReverseMatch:
            continue
        pages.append((name, ()))
    return pages


@pytest.mark.parametrize("part", range(PARTS))
def test_forms_fit_a_phone_in_german(logged_in_page: Open, committed_shop: Shop, owner: User, part: int) -> None:
    installation = create_app_rows(committed_shop)
    User.objects.filter(pk=owner.pk).update(language="de")
    window = logged_in_page(owner, committed_shop, viewport={"width": 390, "height": 844})
    of_rows = [(name, args) for name, args in get_pages(committed_shop, installation) if args]

    problems: list[tuple[str, object]] = []
    form_count = 0
    for name, args in [*get_add_forms(committed_shop), *of_rows][part::PARTS]:
        response = window.page.goto(window.server + get_panel_url(committed_shop, f"admin:{name}", *args))
        if response is None or response.status != 200:  # A screen without an add form.
            continue
        form_count += 1
        expect(window.page.get_by_role("main")).to_be_visible()
        problems += [(name, f"{wide} pixels too wide")] if (wide := window.sideways()) > 0 else []
        problems += [(name, cut_text) for cut_text in window.page.evaluate(CUT)]

    assert form_count > 20
    assert sorted(map(str, problems)) == []


def test_a_text_that_is_cut_is_found(logged_in_page: Open, committed_shop: Shop, owner: User) -> None:
    page = logged_in_page(owner, committed_shop, viewport={"width": 390, "height": 844}).go("catalog_product_add")
    cut_text = "<p style='width: 40px; overflow: hidden; white-space: nowrap'>Benachrichtigungen</p>"

    before = page.evaluate(CUT)
    page.evaluate("html => document.querySelector('#content').insertAdjacentHTML('afterbegin', html)", cut_text)

    assert before == []
    assert page.evaluate(CUT) == ["P: Benachrichtigungen"]
