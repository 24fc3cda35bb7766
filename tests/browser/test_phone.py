from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib import admin
from django.urls import NoReverseMatch
from django.utils import timezone
from playwright.sync_api import expect

from apps.bulk_edits.models import BulkEdit
from apps.content.domain import blogs
from apps.content.models import Article, MobilePlatformApplication
from apps.core.admin.reverse import get_panel_url
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop, User
from apps.customers.models import Customer
from apps.documents.domain.issue import issue_invoice
from apps.imports_exports.models import Export, Import
from apps.orders.models import Order
from apps.store_imports.models import StoreImport
from tests.support.browser.full_shop import create_app_rows, get_pages
from tests.support.browser.pages import Open
from tests.support.factories.catalog import make_custom, make_product, make_smart
from tests.support.factories.content import make_comment, make_page, make_policy, make_redirect, make_store_file
from tests.support.factories.customers import make_customer
from tests.support.factories.discounts import make_code, make_rule
from tests.support.factories.draft_orders import make_draft_order
from tests.support.factories.gift_cards import make_gift_card
from tests.support.factories.inventory import make_item, make_location, make_receipt, make_transfer, set_stock
from tests.support.factories.orders import make_order
from tests.support.panel.admin_urls import TABLE

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LONG = "Schokoladenfabrikation " * 11
# Screens without a table.
SCREENS_WITHOUT_TABLE = {
    *("shops_shop_changelist", "content_theme_changelist", "inventory_inventoryitem_changelist"),
    *("documents_documentsettings_changelist", "shops_shopcountry_changelist"),
}
LISTS = [name for name in TABLE if name.endswith("_changelist") and name not in SCREENS_WITHOUT_TABLE]
# Return the number of lines, the height and the cut-off statuses of each row.
ROWS = """() => [...document.querySelectorAll("#result_list tbody tr.data-row")].map((row) => {
    const box = row.getBoundingClientRect(), tops = new Set(), hidden = [];
    for (const cell of row.children) {
        const place = cell.getBoundingClientRect();
        if (!cell.checkVisibility() || cell.matches(".action-checkbox, :has(.bo-thumb)")) continue;
        if (place.bottom <= box.bottom) tops.add(Math.round(place.top / 4));
        else if (cell.querySelector(".bo-badge:not(.bo-flag)")) hidden.push(cell.textContent.trim());
    }
    return [tops.size, Math.round(box.height), hidden];
})"""
LINES, TALL = 3, 84


def create_long_rows(shop: Shop, user: User) -> None:
    now = timezone.now()
    create_app_rows(shop)
    line = {"title": LONG, "sku": "S" * 255, "price": Decimal("12249.80"), "quantity": 2}
    address = {"first_name": LONG[:100], "last_name": LONG[:100], "city": LONG[:100], "country": "Germany"}
    order = make_order(
        shop, lines=[line], tags="gift, " + LONG.strip(), email=f"{'a' * 60}@example.com", shipping_address=address,
        customer={"first_name": LONG, "last_name": LONG},
    )  # fmt: skip
    Order.rows().filter(pk=order.pk).update(financial_status="partially_refunded")
    make_product(LONG.strip(), vendor=LONG.strip(), product_type=LONG.strip(), tags=LONG.strip(), status="archived")
    make_product("Mug", vendor="Harbor Works", product_type="Lamps")
    for title in (LONG.strip(), "Kitchen"):
        make_custom(title)
        make_smart(title)
    make_customer(first_name=LONG.strip(), last_name=LONG.strip(), email=f"{'b' * 60}@example.com", tags=LONG.strip())
    make_customer(first_name="Grace", last_name="Hopper", email="grace@example.com")
    blog = blogs.create_blog({"title": LONG.strip()}, actor="system", at=now)
    for title in (LONG.strip(), "News"):
        Article.objects.create(shop=shop, blog=blog, title=title, author=title, tags=title, handle=title[:20])
    MobilePlatformApplication.objects.create(shop=shop, platform="ios", application_id="A1B2C3D4E5.example.app")
    make_store_file(f"{'c' * 200}.png")
    make_page(title=LONG.strip(), author=LONG.strip())
    make_redirect("/" + "old/" * 60, "/" + "new/" * 60)
    make_policy()
    make_comment(author=LONG[:100], body=LONG * 3)
    item, location = make_item(shop, sku="D" * 255), make_location(shop, name=LONG.strip())
    set_stock(item, location, 1_000_000)
    make_receipt(item, note=LONG.strip())
    make_transfer(item, location, note=LONG.strip())
    issue_invoice(make_order(shop), actor="system", at=now)
    person = Customer.objects.get(first_name=LONG.strip())
    make_draft_order(customer_id=person.pk, tags=LONG.strip())
    make_gift_card(customer_id=person.pk, note=LONG.strip())
    make_code("C" * 40, make_rule(title=LONG.strip(), usage_limit=1_000_000))
    Export.objects.create(shop=shop, kind="orders", format="csv", user=user, expires_at=now + timedelta(days=2))
    Import.objects.create(shop=shop, name=f"{LONG.strip()[:250]}.csv", format="csv", actor="system", problem=LONG)
    StoreImport.objects.create(shop=shop, source_url=f"https://{'d' * 60}.{'e' * 60}.example")
    operations = {"vendor": LONG.strip()}
    BulkEdit.objects.create(shop=shop, kind="products", operations=operations, actor="system", problem=LONG)
    Job.objects.filter(state="failed").update(error=LONG, finished_at=now)


# German words are longer, so English is tested only by ``make soak``.
@pytest.mark.parametrize("language", [pytest.param("en-US", marks=[pytest.mark.soak, pytest.mark.timeout(0)]), "de-DE"])
def test_list_rows_have_at_most_three_lines(
    logged_in_page: Open, committed_shop: Shop, owner: User, language: str
) -> None:
    create_long_rows(committed_shop, owner)
    window = logged_in_page(owner, committed_shop, viewport={"width": 390, "height": 844}, locale=language)

    empty = set(LISTS)
    problems: list[tuple[object, ...]] = []
    for name in LISTS:
        page = window.go(name)
        for lines, tall, hidden_statuses in page.evaluate(ROWS):
            empty.discard(name)
            problems += (
                [(name, lines, tall, hidden_statuses)] if lines > LINES or tall > TALL or hidden_statuses else []
            )
        problems += [(name, f"{wide} too wide")] if (wide := window.sideways()) > 0 else []

    assert problems == []
    assert empty == set()
    assert window.problems == []


def test_the_longest_lists_fit_on_a_small_screen(logged_in_page: Open, committed_shop: Shop, owner: User) -> None:
    create_long_rows(committed_shop, owner)
    window = logged_in_page(owner, committed_shop, viewport={"width": 1280, "height": 900}, locale="de-DE")

    for name in ("fulfillment_fulfillmentorder", "orders_order", "customers_customer", "catalog_product"):
        page = window.go(f"{name}_changelist")
        beyond = page.locator("#result_list").evaluate(
            "table => table.getBoundingClientRect().right - table.closest('.bo-rows').getBoundingClientRect().right"
        )
        assert beyond <= 1, f"{name}: {beyond} pixels"


def test_chosen_columns_are_all_visible(logged_in_page: Open, committed_shop: Shop, owner: User) -> None:
    create_long_rows(committed_shop, owner)
    window = logged_in_page(owner, committed_shop, viewport={"width": 390, "height": 844})
    columns = "name.address.account.orders_count.spent.last_order.since.telephone.newsletter.proven"

    page = window.open(f"/s/acme/admin/customers/customer/?columns={columns}")

    cells = """row => [...row.children].filter(cell => cell.checkVisibility())
        .every(cell => cell.getBoundingClientRect().bottom <= row.getBoundingClientRect().bottom)"""
    rows = page.locator("#result_list tbody tr.data-row")
    assert rows.count() >= 2
    assert all(row.evaluate(cells) for row in rows.all())


PARTS = 2


def get_add_forms(shop: Shop) -> list[tuple[str, tuple[object, ...]]]:
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
        problems += [(name, cut_text) for cut_text in window.cut_texts()]

    assert form_count > 20
    assert sorted(map(str, problems)) == []


def test_a_text_that_is_cut_is_found(logged_in_page: Open, committed_shop: Shop, owner: User) -> None:
    window = logged_in_page(owner, committed_shop, viewport={"width": 390, "height": 844})
    page = window.go("catalog_product_add")
    cut_text = "<p style='width: 40px; overflow: hidden; white-space: nowrap'>Benachrichtigungen</p>"

    before = window.cut_texts()
    page.evaluate("html => document.querySelector('#content').insertAdjacentHTML('afterbegin', html)", cut_text)

    assert before == []
    assert window.cut_texts() == ["P: Benachrichtigungen"]
