from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from apps.catalog.models import Product, ProductImage
from apps.core.tenancy.models import Shop
from tests.support.browser.pages import BrowserPage
from tests.support.factories.catalog import make_image, make_product

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("media_root")]


def test_a_product_is_described_duplicated_and_scheduled(window: BrowserPage, axe: None) -> None:
    Shop.objects.update(timezone="Europe/Berlin")
    product = make_product("Bag")
    alt = f"#alt-{make_image(product).pk}"
    page = window.go("catalog_product_change", product.pk)
    barriers = window.barriers()
    page.locator(alt).fill("A bag")
    page.get_by_role("button", name="Save and continue editing").click()
    expect(page.get_by_text("was changed successfully")).to_be_visible()
    expect(page.locator(alt)).to_have_value("A bag")

    page.locator(".bo-more summary").click()
    page.get_by_role("link", name="Duplicate…").click()
    expect(page.get_by_label("Title")).to_have_value("Copy of Bag")
    barriers += window.barriers()
    page.get_by_label("Title").fill("Tote")
    page.get_by_label("Title").press("Enter")
    expect(page.get_by_text("“Bag” was duplicated. You are now editing the copy.")).to_be_visible()
    page.get_by_label("Publication date").fill("2031-05-06T07:08")
    expect(page.get_by_text("The time is in the shop's time zone (Europe/Berlin).")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/catalog/product/")

    copy = Product.objects.get(title="Tote")
    assert (copy.status, copy.published_at) == ("draft", datetime(2031, 5, 6, 5, 8, tzinfo=UTC))
    assert list(ProductImage.objects.order_by("pk").values_list("alt", flat=True)) == ["A bag", "A bag"]
    assert (window.problems, barriers) == ([], [])
