from decimal import Decimal
from typing import Any

import pytest
from django.apps import apps
from django.db import DatabaseError, models, transaction
from django.utils import timezone
from playwright.sync_api import Dialog, expect

from apps.content.domain import blogs, themes
from apps.content.models import Theme
from apps.core.tenancy.models import Shop, User
from apps.core.tenancy.scope import all_shops_scope
from apps.customers.models import Customer
from tests.support.browser.pages import BrowserPage, Open
from tests.support.factories.catalog import make_custom, make_product
from tests.support.factories.orders import make_order
from tests.support.panel.admin_urls import TABLE
from tests.support.panel.one_of_each import make_one_of_each
from tests.support.subtests import Subtests

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

RUN = "document.title='run';alert(1)"
MARKUP = (
    f'"\'><script>{RUN}</script><img src=x onerror="{RUN}"><svg onload="{RUN}"></title></textarea>'
    f'<math><mi xlink:href="data:x,<script>{RUN}</script>"></math><a href="javascript:{RUN}">{{{{7*7}}}}</a>'
)
# Columns with a machine-readable format: HTML in these columns would break the page instead of running.
FORMED = (
    {"domain", "handle", "timezone", "currency", "email", "password", "task", "topic", "actor", "scope", "key", "kind"}
    | {"type", "value_type", "subject_type", "owner_resource", "namespace", "format", "screen", "query", "token"}
    | {"session_key", "src", "digest", "md5", "place", "secret", "prefix", "api_key", "api_secret", "fingerprint"}
)


def get_text_columns(model: type[models.Model]) -> list[models.Field[Any, Any]]:
    return [
        field
        for field in model._meta.concrete_fields
        if isinstance(field, models.CharField | models.TextField)
        and not field.choices
        and not field.primary_key
        and field.name not in FORMED
        and not field.name.endswith(("_key", "_code", "_digest", "_unit", "_id", "_status"))
    ]


def write_html_into_texts() -> int:
    column_count = 0
    with all_shops_scope():
        for model in apps.get_models():
            if not model.__module__.startswith("apps.") or model._meta.proxy:
                continue
            for field in get_text_columns(model):
                text = MARKUP[: field.max_length] if field.max_length else MARKUP
                try:
                    with transaction.atomic():
                        column_count += bool(model._base_manager.update(**{field.name: text}))
                except DatabaseError:
                    continue
    return column_count


def test_pages_run_no_html_of_texts(logged_in_page: Open, committed_shop: Shop, owner: User) -> None:
    things = make_one_of_each(committed_shop)
    spoiled = write_html_into_texts()
    committed_shop.refresh_from_db()
    window = logged_in_page(owner, committed_shop)
    dialogs: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    window.page.on("dialog", dismiss)

    with Subtests() as subtest:
        for name, row in TABLE.items():
            if (
                row.status != 200
                or not row.lets
                or name.endswith(
                    (
                        "_download",
                        "_report",
                        "_report_answers",
                        "_file",
                        "_progress",
                        "_sample",
                        "_redirects",
                        "_slip",
                        "_problems",
                    )
                )
            ):
                continue
            with subtest(name):
                page = window.go(name, *things[row.about])
                if page.locator("main, [role=main]").count():
                    expect(page.get_by_role("main")).to_be_visible()
                assert page.title() != "run"

    assert spoiled > 80
    assert dialogs == []
    assert sorted({problem for problem in window.problems if "404" not in problem}) == []


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
    now = timezone.now()
    line = {"title": LONG, "sku": LONG, "price": Decimal("12249.80"), "quantity": 2}
    person = {"first_name": LONG, "last_name": "Lee"}
    order = make_order(committed_shop, lines=[line], email="ada@example.com", customer=person, financial_status="paid")
    product, collection = make_product(LONG), make_custom(LONG)
    blog = blogs.create_blog({"title": LONG}, actor="system", at=now)
    theme = themes.duplicate_theme(Theme.objects.get(role="main"), name=LONG[:50], actor="system", at=now)
    customer = Customer.objects.get()
    lists = "catalog_product catalog_customcollection content_blog content_theme orders_order customers_customer"
    pages = {
        "catalog_product_change catalog_product_images catalog_product_delete": product,
        "catalog_customcollection_delete": collection,
        "content_blog_delete": blog,
        "content_theme_delete": theme,
        "orders_order_change orders_order_cancel refunds_refund_new": order,
        "customers_customer_change": customer,
    }
    return [
        *((f"{name}_changelist", ()) for name in (*lists.split(), "inventory_inventoryitem")),
        *((name, (row.pk,)) for names, row in pages.items() for name in names.split()),
    ]


def test_long_names_neither_widen_a_page_nor_break_its_numbers(
    window: BrowserPage, pages_with_long_names: list[tuple[str, tuple[int, ...]]]
) -> None:
    problems = []
    for name, args in pages_with_long_names:
        page = window.go(name, *args)
        for width in (1400, 1000, 390):
            page.set_viewport_size({"width": width, "height": 900})
            problems += [(name, width, f"{wide} too wide")] if (wide := window.sideways()) > 0 else []
            problems += [(name, width, number) for number in page.evaluate(BROKEN)]

    assert problems == []
