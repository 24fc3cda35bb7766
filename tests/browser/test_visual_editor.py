from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from apps.catalog.models import Product
from apps.content.models import StoreFile
from apps.core.tenancy.models import Shop, User
from tests.support.browser.pages import BrowserPage, Open
from tests.support.factories.catalog import make_product
from tests.support.factories.content import make_store_file
from tests.support.files.images import make_plain_image

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TABLE = "<TABLE class=sizes>\n <tr><td>S<td>34&nbsp;cm\n</TABLE>\n<!-- kept -->"
FOREIGN = '<my-tabs onclick=alert(1)><p style="color:red">One</p></my-tabs><script>alert(1)</script>'
MARKUP = f'<p CLASS="lead">First</p>\n{TABLE}\n{FOREIGN}\n<ul><li>one<li>two</ul>\n'


@pytest.fixture
def product(committed_shop: Shop, media_root: Path) -> Product:
    make_product("Wool hat", handle="wool-hat")
    return make_product("Scarf", body_html=MARKUP)


def go_to(page: Page, text: str, *keys: str) -> None:
    """Click a text, press navigation keys, and wait until the browser has reported the new selection."""
    page.get_by_role("textbox", name="Description").get_by_text(text, exact=True).click()
    for key in keys:
        page.keyboard.press(key)
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")


def save_and_read(page: Page, product: Product) -> str | None:
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/catalog/product/")
    return Product.objects.get(pk=product.pk).body_html


def test_edited_text_alone_changes(logged_in_page: Open, committed_shop: Shop, owner: User, product: Product) -> None:
    window = logged_in_page(owner, committed_shop)
    page = window.go("catalog_product_change", product.pk)

    go_to(page, "First", "End")
    page.keyboard.type(" & more")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+b")
    page.keyboard.type("bold")
    go_to(page, "two", "End")
    page.keyboard.press("Enter")
    page.keyboard.type("three")

    first = '<p CLASS="lead">First &amp; more</p>\n<p><strong>bold</strong></p>'
    expected = MARKUP.replace('<p CLASS="lead">First</p>', first).replace("<li>two</ul>", "<li>two<li>three</ul>")
    assert save_and_read(page, product) == expected
    assert [problem for problem in window.problems if "img-src" not in problem and "404" not in problem] == []


def test_viewing_the_source_changes_nothing(window: BrowserPage, product: Product) -> None:
    page = window.go("catalog_product_change", product.pk)

    page.get_by_role("button", name="HTML source").click()
    page.get_by_role("button", name="Visual").click()
    go_to(page, "First")
    page.keyboard.type("x")
    page.get_by_role("button", name="Undo").click()
    page.get_by_label("Title").fill("Warm scarf")

    assert save_and_read(page, product) == MARKUP


def test_links_and_images_are_chosen(window: BrowserPage, product: Product) -> None:
    make_store_file()
    page = window.go("catalog_product_change", product.pk)

    go_to(page, "First", "Home", "Shift+End")
    page.keyboard.press("Control+k")
    page.get_by_label("Or find a product").fill("wool")
    page.get_by_role("button", name="Wool hat Product").click()
    page.get_by_role("button", name="Set link").click()
    go_to(page, "First", "End")
    page.get_by_role("button", name="Image", exact=True).click()
    page.get_by_role("button", name="hat.png").click()
    page.get_by_label("Alternative text").fill("A hat")
    page.get_by_role("button", name="Insert image").click()
    expect(page.locator(".bo-visual-text img[alt='A hat']")).to_be_visible()

    source = page.locator("textarea[name=body_html]").input_value()
    assert source.startswith('<p CLASS="lead"><a href="/products/wool-hat">First</a><img src="http')
    assert "/files/hat.png?v=" in source.partition(' alt="A hat"')[0]


def test_a_dropped_image_is_stored(logged_in_page: Open, committed_shop: Shop, owner: User, product: Product) -> None:
    window = logged_in_page(owner, committed_shop)
    page = window.go("catalog_product_change", product.pk)
    drop = """([bytes, type]) => {
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array(bytes)], "Summer.png", { type }));
        const text = document.querySelector(".bo-visual-text");
        text.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    }"""
    expect(page.get_by_role("textbox", name="Description")).to_be_visible()

    page.evaluate(drop, [list(make_plain_image("PNG", (8, 8), color="green")), "image/png"])
    expect(page.get_by_text("Summer.png was added to the shop's files.")).to_be_visible()
    page.evaluate(drop, [[1, 2, 3], "image/png"])
    expect(page.get_by_text("Summer.png: ")).to_be_visible()

    assert "/files/Summer.png?v=" in page.locator("textarea[name=body_html]").input_value()
    assert StoreFile.objects.get().name == "Summer.png"


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.usefixtures("axe")
def test_the_editor_is_accessible(
    logged_in_page: Open, committed_shop: Shop, owner: User, product: Product, width: int
) -> None:
    file = make_store_file()
    window = logged_in_page(owner, committed_shop, viewport={"width": width, "height": 900})
    page = window.go("catalog_product_change", product.pk)
    go_to(page, "First")
    problems = window.barriers()
    page.keyboard.press("Control+k")
    problems += window.barriers()
    for name, args in (("changelist", ()), ("add", ()), ("change", (file.pk,))):
        window.go(f"content_storefile_{name}", *args)
        problems += window.barriers()

    assert problems == []


@pytest.mark.parametrize("scripts", [True, False], ids=["no editor", "no scripts"])
def test_the_source_can_be_edited_if_the_editor_does_not_load(
    logged_in_page: Open, committed_shop: Shop, owner: User, product: Product, scripts: bool
) -> None:
    window = logged_in_page(owner, committed_shop, java_script_enabled=scripts)
    window.page.route("**/panel/visual.js", lambda route: route.abort())
    page = window.go("catalog_product_change", product.pk)
    source = page.locator("textarea[name=body_html]")

    expect(source).to_be_visible()
    expect(page.locator(".bo-visual-preview").filter(visible=True)).to_have_count(0)
    source.fill("<p>By hand</p>")

    assert save_and_read(page, product) == "<p>By hand</p>"
