"""Tests with names of maximum length: every page fits the window, and no number is split over two lines."""

from decimal import Decimal

import pytest
from django.utils import timezone

from apps.content.domain import blogs, themes
from apps.content.models import Theme
from apps.customers.models import Customer
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from apps.staff.models import User
from tests.browser.conftest import Open
from tests.catalog.factories import make_custom, make_product
from tests.orders.factories import make_order

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LONG = "Schokoladenfabrikation" * 11
# Return numbers that are split over two lines.
BROKEN = r"""() => {
    const texts = document.createTreeWalker(document.getElementById("content"), NodeFilter.SHOW_TEXT), found = [];
    while (texts.nextNode()) {
        const node = texts.currentNode;
        if (!node.parentElement.checkVisibility()) continue;
        for (const number of node.data.matchAll(/(?<![^\s#])\d[\d.,]*\d(?!\S)/g)) {
            const range = document.createRange();
            range.setStart(node, number.index);
            range.setEnd(node, number.index + number[0].length);
            const lines = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
            if (lines.size > 1) found.push(number[0]);
        }
    }
    return found;
}"""


@pytest.fixture
def pages_with_long_names(committed_shop: Shop) -> list[tuple[str, tuple[int, ...]]]:
    """Create rows with names of maximum length, and return their pages."""
    now = timezone.now()
    line = {"title": LONG, "sku": LONG, "price": Decimal("12249.80"), "quantity": 2}
    person = {"first_name": LONG, "last_name": "Lee"}
    order = make_order(committed_shop, lines=[line], email="ada@example.com", customer=person, financial_status="paid")
    with shop_scope(committed_shop):
        product, collection = make_product(LONG), make_custom(LONG)
        blog = blogs.create_blog({"title": LONG}, actor="system", at=now)
        theme = themes.duplicate_theme(Theme.objects.get(role="main"), name=LONG[:50], actor="system", at=now)
        customer = Customer.objects.get()
    return [
        ("catalog_product_changelist", ()),
        ("catalog_product_change", (product.pk,)),
        ("catalog_product_images", (product.pk,)),
        ("catalog_product_delete", (product.pk,)),
        ("catalog_customcollection_changelist", ()),
        ("catalog_customcollection_delete", (collection.pk,)),
        ("content_blog_changelist", ()),
        ("content_blog_delete", (blog.pk,)),
        ("content_theme_changelist", ()),
        ("content_theme_delete", (theme.pk,)),
        ("orders_order_changelist", ()),
        ("orders_order_change", (order.pk,)),
        ("orders_order_cancel", (order.pk,)),
        ("refunds_refund_new", (order.pk,)),
        ("customers_customer_changelist", ()),
        ("customers_customer_change", (customer.pk,)),
        ("inventory_inventoryitem_changelist", ()),
    ]


def test_long_names_neither_widen_a_page_nor_break_its_numbers(
    logged_in_page: Open, committed_shop: Shop, owner: User, pages_with_long_names: list[tuple[str, tuple[int, ...]]]
) -> None:
    window = logged_in_page(owner, committed_shop)

    problems = []
    for name, args in pages_with_long_names:
        page = window.go(name, *args)
        for width in (1400, 1000, 390):
            page.set_viewport_size({"width": width, "height": 900})
            problems += [(name, width, f"{wide} too wide")] if (wide := window.sideways()) > 0 else []
            problems += [(name, width, number) for number in page.evaluate(BROKEN)]

    assert problems == []
    assert window.problems == []
