"""Tests of the pages that staff use most, with a zoom of 200 %, with reduced motion, and with axe."""

from decimal import Decimal

import pytest
from django.utils import timezone
from playwright.sync_api import ViewportSize, expect

from apps.content.models import Theme
from apps.core.admin.reverse import get_panel_url
from apps.core.tenancy.models import Shop, User
from apps.imports_exports.models import Import, ImportedRow
from apps.orders.domain import transitions
from tests.support import factories
from tests.support.browser.pages import BrowserPage, Open
from tests.support.factories.catalog import make_product
from tests.support.factories.customers import make_customer
from tests.support.factories.fulfillment import make_fulfillment_order
from tests.support.factories.orders import MUG, make_order

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# A window of 1280 × 900 pixels with a zoom of 200 %.
ZOOMED: ViewportSize = {"width": 640, "height": 450}
PAID = [{"kind": "sale", "status": "success", "amount": Decimal("10.00")}]
# Return the elements with a transition or an animation that takes time.
MOVING = """() => [...document.querySelectorAll('body, body *')].filter(element => {
    const {transitionDuration, transitionProperty, animationName, animationDuration} = getComputedStyle(element);
    const isTimed = text => text.split(',').some(part => parseFloat(part) > 0);
    return (isTimed(transitionDuration) && transitionProperty !== 'none')
        || (isTimed(animationDuration) && animationName !== 'none');
}).map(element => element.outerHTML.slice(0, 120))"""


@pytest.fixture
def pages(committed_shop: Shop, owner: User) -> list[str]:
    """Create rows for the pages, and return the paths."""
    now = timezone.now()
    product, customer = make_product("Mug", prices=("10.00", "12.00")), make_customer(first_name="Ada")
    unfulfilled = make_fulfillment_order(
        lines=[{**MUG, "quantity": 3}], transactions=PAID, customer={"id": customer.pk}
    ).order
    cancelled = make_order(committed_shop, lines=[MUG], transactions=PAID)
    transitions.cancel_order(cancelled, reason="customer", actor=f"staff:{owner.pk}", at=now)
    values = {"shop": committed_shop, "format": "csv", "actor": "system", "total": 2}
    job = Import.objects.create(
        **values, name="customers.csv", state="checked", counts={"new": 1, "failed": 1}, finished_at=now
    )
    for line, fate, reason in ((2, "new", ""), (3, "failed", "Email is invalid.")):
        ImportedRow.objects.create(
            shop=committed_shop, file=job, dry=True, line=line, kind="customers", fate=fate, label="Ada", reason=reason
        )
    Theme.objects.create(shop=committed_shop, name="Winter draft", role="unpublished", updated_at=now)
    factories.make_member(committed_shop, "orders", email="sam@example.com", last_name="Rivera")
    names: list[tuple[str, tuple[object, ...]]] = [
        ("index", ()),
        ("orders_order_changelist", ()),
        ("orders_order_change", (unfulfilled.pk,)),
        ("orders_order_change", (cancelled.pk,)),
        ("orders_order_cancel", (unfulfilled.pk,)),
        ("catalog_product_changelist", ()),
        ("catalog_product_change", (product.pk,)),
        ("customers_customer_change", (customer.pk,)),
        ("fulfillment_fulfillmentorder_changelist", ()),
        ("events_event_changelist", ()),
        ("imports_exports_import_change", (job.pk,)),
        ("imports_exports_import_upload", ()),
        ("content_theme_changelist", ()),
        ("content_theme_add", ()),
        ("content_article_add", ()),
        ("inventory_stockreceipt_add", ()),
        ("staff_membership_add", ()),
        ("webhooks_subscription_changelist", ()),
    ]
    return [get_panel_url(committed_shop, f"admin:{name}", *args) for name, args in names]


@pytest.mark.parametrize("language", ["en-US", "de-DE"])
def test_a_zoom_of_200_percent_cuts_nothing_off(
    logged_in_page: Open, committed_shop: Shop, owner: User, pages: list[str], language: str
) -> None:
    window = logged_in_page(owner, committed_shop, viewport=ZOOMED, device_scale_factor=2, locale=language)

    problems: list[tuple[str, object]] = []
    for path in pages:
        window.open(path)
        expect(window.page.get_by_role("main")).to_be_visible()
        problems += [(path, f"{wide} pixels too wide")] if (wide := window.sideways()) > 0 else []
        problems += [(path, cut_text) for cut_text in window.cut_texts()]

    assert problems == []
    assert window.problems == []


def test_pages_keep_still_with_reduced_motion(window: BrowserPage, pages: list[str]) -> None:
    moving = {path: found for path in pages if (found := window.open(path).evaluate(MOVING))}

    assert moving == {}


def test_movement_is_found(logged_in_page: Open, committed_shop: Shop, owner: User) -> None:
    page = logged_in_page(owner, committed_shop, reduced_motion="no-preference").go()

    assert page.evaluate(MOVING) != []


def test_short_pages_do_not_scroll(window: BrowserPage, committed_shop: Shop) -> None:
    page = window.go("content_theme_add")

    excess = page.evaluate("document.documentElement.scrollHeight - innerHeight")

    assert excess == 0


@pytest.mark.parametrize(
    "name", ["catalog_product_add", "draft_orders_draftorder_add", "webhooks_subscription_add", "content_page_add"]
)
@pytest.mark.parametrize(("height", "covers"), [(844, True), (390, False)])
def test_buttons_to_save_cover_no_fields_in_low_windows(
    window: BrowserPage, name: str, height: int, covers: bool
) -> None:
    window.page.set_viewport_size({"width": 844, "height": height})

    page = window.go(name)

    save = page.locator(".bo-actions-bar, #submit-row [name=_save]").first.bounding_box()
    assert save is not None
    assert (save["y"] < height) is covers


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_with_rows_are_accessible(window: BrowserPage, pages: list[str], width: int) -> None:
    window.page.set_viewport_size({"width": width, "height": 844})

    problems: list[tuple[str, ...]] = []
    for path in pages:
        window.open(path)
        problems += [(path, *problem) for problem in window.barriers()]

    assert problems == []
