import pytest
from django.utils import timezone
from playwright.sync_api import ViewportSize, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from apps.content.domain import assets, blob_store
from apps.content.models import ScriptCopy, Theme
from apps.core.admin.reverse import get_panel_url
from apps.core.tenancy.models import Shop, User
from apps.fulfillment.domain.tracking import Tracking
from apps.orders.models import Order
from tests.support import factories
from tests.support.browser.full_shop import create_app_rows, get_pages
from tests.support.browser.pages import Look, Open
from tests.support.factories.catalog import make_product
from tests.support.factories.customers import make_customer
from tests.support.factories.fulfillment import make_event, make_fulfillment, route_order_now
from tests.support.factories.orders import make_order

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

DESK: ViewportSize = {"width": 1280, "height": 720}
PHONE: ViewportSize = {"width": 390, "height": 844}
LOOKS: list[tuple[ViewportSize, tuple[Look, ...]]] = [(size, ("light", "dark")) for size in (DESK, PHONE)]
# Combinations of one window size and one color scheme, used in rotation.
CHOICE: list[tuple[ViewportSize, tuple[Look, ...]]] = [(size, (look,)) for size, looks in LOOKS for look in looks]
SPY = b"""
  const told = document.body.dataset;
  told.origin = self.origin;
  try { told.cookies = document.cookie; } catch { told.cookies = "out of reach"; }
  fetch("/accounts/profile/", {credentials: "include"})
    .then((answer) => answer.text())
    .then((text) => { told.panel = text; }, () => { told.panel = "out of reach"; });
"""
PARTS = 4
WHOLE = pytest.mark.parametrize(
    "all_looks",
    [
        pytest.param(False, id="one look each"),
        pytest.param(True, id="all looks", marks=[pytest.mark.soak, pytest.mark.timeout(0)]),
    ],
)
OUTSIDE = ("/admin/shops/", "/accounts/profile/", "/accounts/password/change/", "/accounts/2fa/")
ENTRANCE = ("/accounts/login/", "/accounts/password/reset/")


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize("part", range(PARTS))
@WHOLE
def test_panel_pages_are_accessible(
    logged_in_page: Open, committed_shop: Shop, owner: User, part: int, all_looks: bool
) -> None:
    """Check each page in one combination of window size and color scheme; ``make soak`` checks all four.

    The pages are split into parts that may run in parallel.
    """
    installation = create_app_rows(committed_shop)
    window = logged_in_page(owner, committed_shop, viewport=DESK)

    problems: list[tuple[str, ...]] = []
    for number, (name, args) in enumerate(get_pages(committed_shop, installation)[part::PARTS]):
        page = window.go(name, *args)
        # If all combinations are tested, every second page starts in phone size and is enlarged afterwards.
        for size, looks in LOOKS[:: (-1) ** number] if all_looks else [CHOICE[(number + part) % len(CHOICE)]]:
            page.set_viewport_size(size)
            expect(page.get_by_role("main")).to_be_visible()
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            problems += [(name, f"{size['width']} px", problem) for problem in window.unreachable()]
            problems += [(name, f"{size['width']} px", *problem) for problem in window.barriers(looks)]

    assert problems == []
    assert window.problems == []


def test_further_pages_are_accessible(logged_in_page: Open, committed_shop: Shop, owner: User, axe: None) -> None:
    make_order(committed_shop)
    window = logged_in_page(owner, committed_shop)

    page = window.go("index")
    page.get_by_role("link", name="Returning customers and best sellers").scroll_into_view_if_needed()
    expect(page.get_by_role("heading", name="Best sellers")).to_be_visible()
    expect(page.get_by_role("heading", name="0 orders from returning customers")).to_be_visible()
    problems = window.barriers()
    page.route("**/report/answers/**", lambda route: route.abort())
    page.reload()
    page.get_by_role("link", name="Returning customers and best sellers").scroll_into_view_if_needed()

    expect(page.get_by_text("This content could not be loaded.")).to_be_visible()
    expect(page.get_by_role("link", name="Returning customers and best sellers")).to_be_visible()
    assert problems == []


FILTERED = ("orders_order", "catalog_product", "customers_customer", "inventory_location", "webhooks_delivery")


@pytest.mark.usefixtures("axe")
@WHOLE
def test_filters_are_accessible(logged_in_page: Open, committed_shop: Shop, owner: User, all_looks: bool) -> None:
    """Check the filter panel as a form and as links, when opened and with invalid values.

    Each list uses one combination of window size and color scheme; ``make soak`` checks all four.
    """
    window = logged_in_page(owner, committed_shop, viewport=DESK)
    addresses = [
        get_panel_url(committed_shop, f"admin:{name}_changelist") + query
        for query in ("", "?total_from=a+lot&processed_to=never&created_from=never")
        for name in FILTERED
    ]

    problems: list[tuple[str, ...]] = []
    for number, address in enumerate(addresses):
        page = window.open(address)
        for size, looks in LOOKS if all_looks else [CHOICE[number % len(CHOICE)]]:
            page.set_viewport_size(size)
            page.get_by_role("button", name="Filters").press("Enter")
            filters = page.get_by_role("dialog", name="Filters")
            expect(filters).to_be_visible()
            expect(filters.locator(":focus")).to_have_count(1)
            problems += [(address, problem) for problem in window.unreachable()]
            problems += [(address, *problem) for problem in window.barriers(looks)]
            page.keyboard.press("Escape")
            expect(filters).to_be_hidden()
            expect(page.get_by_role("button", name="Filters")).to_be_focused()

    assert problems == []
    assert window.problems == []


BAD_IN_THE_DARK = """
  <title>Lamp</title>
  <style>
    .lamp { display: none } .dark .lamp { display: block }
    .dark p { color: #222; background: #111 }
  </style>
  <main><h1>Lamp</h1><p>Switched on</p><img class="lamp" src="data:image/gif;base64,R0lGODlhAQABAAAAACw="></main>
"""


def test_flaws_of_the_dark_theme_alone_are_found(logged_in_page: Open, committed_shop: Shop, axe: None) -> None:
    """Check that ``barriers`` reports problems that exist only in dark mode, where fewer rules run."""
    window = logged_in_page(None, committed_shop)
    window.page.set_content(f"<!doctype html><html lang='en'>{BAD_IN_THE_DARK}</html>")

    problems = {(look, problem.split()[0]) for look, problem in window.barriers()}

    assert problems == {("dark", "color-contrast"), ("dark", "image-alt")}


@pytest.mark.parametrize(
    "asks",
    [
        "<img src='http://elsewhere.example/x.png'>",
        "<script>fetch('https://192.0.2.7/x').catch(() => {})</script>",
        "<link rel='stylesheet' href='http://elsewhere.example/x.css'>",
    ],
)
def test_a_request_to_another_host_is_reported(logged_in_page: Open, committed_shop: Shop, asks: str) -> None:
    window = logged_in_page(None, committed_shop)

    page = f"<!doctype html><html lang='en'><title>Asks</title>{asks}</html>"
    window.page.set_content(page, wait_until="networkidle")

    assert ["ERR_NAME_NOT_RESOLVED" in problem for problem in window.problems] == [True]


def fulfill_one(order: Order) -> None:
    (row,) = route_order_now(order)
    numbers = Tracking(("1Z999AA10123456784",), ("https://parcels.example/1Z999AA10123456784",), "UPS")
    fulfillment = make_fulfillment(row, lines=[{"id": row.lines.get().pk, "quantity": 1}], tracking=numbers)
    for status in ("in_transit", "out_for_delivery"):
        make_event(fulfillment, status=status, city="Ottawa", country="Canada")


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_pages_outside_of_the_panel_are_accessible(
    logged_in_page: Open, committed_shop: Shop, owner: User, axe: None, size: ViewportSize
) -> None:
    inside, outside = (logged_in_page(user, committed_shop, viewport=size) for user in (owner, None))
    order = make_order(committed_shop, shipping_address={"city": "Ottawa", "country": "Canada"}, test=True)
    fulfill_one(order)
    status = f"/orders/{committed_shop.pk}/{order.token}"

    problems: list[tuple[str, ...]] = []
    for window, paths in ((inside, OUTSIDE), (outside, (*ENTRANCE, status))):
        for path in paths:
            page = window.open(path)
            expect(page.get_by_role("main")).to_be_visible()
            problems += [(path, *problem) for problem in window.barriers()]
    expect(outside.page.get_by_role("heading", name="Out for delivery")).to_be_visible()

    assert problems == []
    assert inside.problems + outside.problems == []


@pytest.mark.parametrize("path", ["/s/acme/admin/", "/accounts/profile/"])
def test_a_dark_system_makes_dark_pages(logged_in_page: Open, committed_shop: Shop, owner: User, path: str) -> None:
    page = logged_in_page(owner, committed_shop, color_scheme="dark").open(path)

    expect(page.locator("html")).to_have_class("dark")


def test_scripts_on_the_page_of_an_order_cannot_act_for_staff(
    logged_in_page: Open, committed_shop: Shop, owner: User, live_server: LiveServer, settings: Settings
) -> None:
    settings.BASE_URL = live_server.url
    order, now = make_order(committed_shop), timezone.now()
    app = factories.make_installation(committed_shop, ()).app
    values = {"shop": committed_shop, "display_scope": "order_status", "cache": True}
    tag = factories.ScriptTagFactory.create(app=app, **values)
    content = blob_store.store_blob(SPY)
    ScriptCopy.objects.create(shop=tag.shop, tag=tag, src=tag.src, content=content, fetched_at=now, tried_at=now)
    window = logged_in_page(owner, committed_shop)

    page = window.open(f"/orders/{committed_shop.pk}/{order.token}")

    expect(page.locator("body")).to_have_attribute("data-origin", "null")
    expect(page.locator("body")).to_have_attribute("data-panel", "out of reach")
    expect(page.locator("body")).to_have_attribute("data-cookies", "out of reach")


def test_files_of_a_shop_are_no_scripts_of_the_panel(
    logged_in_page: Open, committed_shop: Shop, owner: User, live_server: LiveServer
) -> None:
    theme, evil = Theme.objects.get(role="main"), blob_store.store_blob(b"document.title = 'run'")
    assets.save_asset(theme, "assets/evil.js", evil, actor="system", at=timezone.now())
    address = f"/storefront/{committed_shop.domain}/themes/{theme.pk}/assets/evil.js"
    window = logged_in_page(owner, committed_shop)

    page = window.go()
    outcome = page.evaluate(
        """address => new Promise(done => {
            const script = document.createElement("script");
            script.onload = () => done("loaded");
            script.onerror = () => done("refused");
            script.src = address;
            document.head.append(script);
        })""",
        address,
    )

    assert outcome == "refused"
    assert page.title() != "run"
    assert any("Content Security Policy" in problem for problem in window.problems)


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/s/acme/admin/nothing/", (404, "Page not found")), ("/s/acme/admin/jobs/job/", (403, "Permission required"))],
)
def test_error_pages_are_accessible(
    logged_in_page: Open, committed_shop: Shop, axe: None, path: str, expected: tuple[int, str]
) -> None:
    window = logged_in_page(factories.make_member(committed_shop), committed_shop)

    response = window.page.goto(window.server + path)

    assert response
    assert response.status == expected[0]
    expect(window.page.get_by_role("heading", level=1)).to_have_text(expected[1])
    assert window.violations() == []


# Return how many pixels the labels or contents of fields in a row are vertically misaligned.
UNEVEN = """() => [...document.querySelectorAll('.field-row:has(> .field-line + .field-line)')]
    .filter(row => row.checkVisibility()).map(row => {
    const middle = box => box.top + Math.min(box.height, 38) / 2;
    const lines = [...row.querySelectorAll('.field-line')];
    const middles = find => lines.map(line => middle(find(line).getBoundingClientRect()));
    const spread = places => Math.max(...places) - Math.min(...places);
    const content = line => line.querySelector('input:not([type=hidden]), select, textarea, .readonly');
    return Math.max(spread(middles(line => line.querySelector('label'))), spread(middles(content)));
})"""


@pytest.mark.parametrize("fully", [True, False])
def test_fields_side_by_side_begin_on_one_line(logged_in_page: Open, committed_shop: Shop, fully: bool) -> None:
    customer = make_customer(email="ada@example.com")
    variant = make_product("Mug").variants.get()
    names = ("customers", "products", "locations")
    user = factories.make_member(committed_shop, *(names if fully else ()), view_only=() if fully else names)
    window = logged_in_page(user, committed_shop)
    pages: list[tuple[str, tuple[object, ...]]] = [
        ("customers_customer_change", (customer.pk,)),
        ("catalog_variant_change", (variant.pk,)),
        *([("inventory_location_add", ())] if fully else []),
    ]

    for name, args in pages:
        uneven = window.go(name, *args).evaluate(UNEVEN)
        assert uneven, name
        assert max(uneven) <= 2, (name, uneven)
