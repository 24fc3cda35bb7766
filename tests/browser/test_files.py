"""Tests for file fields in the panel."""

import pytest
from playwright.sync_api import FilePayload, expect

from apps.content.models import Theme
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from apps.staff.models import User
from tests.browser.conftest import Open
from tests.catalog.factories import PNG, make_custom, make_product

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PICTURE: FilePayload = {"name": "cup.png", "mimeType": "image/png", "buffer": PNG}


def test_a_chosen_file_is_named_in_its_own_box_and_nowhere_else(
    logged_in_page: Open, committed_shop: Shop, owner: User
) -> None:
    with shop_scope(committed_shop):
        product, collection = make_product(), make_custom()
        theme = Theme.objects.get(role="main")
    window = logged_in_page(owner, committed_shop)

    page = window.go("catalog_product_images", product.pk)
    page.locator("#files").set_input_files(PICTURE)
    page = window.go("content_theme_code", theme.pk)
    page.locator("#new-content").set_input_files(PICTURE)
    expect(page.locator("#new-key")).to_have_value("")
    page = window.go("catalog_customcollection_change", collection.pk)
    page.locator("input[type=file]").set_input_files(PICTURE)

    expect(page.get_by_label("Choose file to upload")).to_have_value("cup.png")
    assert window.problems == []
