import time
from decimal import Decimal

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from playwright.sync_api import Route, expect

from apps.core.events.models import Event
from apps.core.tenancy.models import AccessToken, Installation, Membership, Shop, User
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from tests.support import factories
from tests.support.browser.list_menu import open_list_menu
from tests.support.browser.pages import BrowserPage, Open
from tests.support.factories.catalog import make_product
from tests.support.factories.content import make_blog
from tests.support.factories.orders import get_available, make_order, make_variant
from tests.support.panel.client import get_totp_code
from tests.support.timing import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PASSWORD = "correct horse battery"
# Return the name of the focused field, or null.
FOCUSED = "() => document.activeElement.name ?? null"


def test_logging_in_with_a_code_and_out_again(logged_in_page: Open, committed_shop: Shop, owner: User) -> None:
    owner.set_password(PASSWORD)
    owner.save()
    secret = generate_totp_secret()
    TOTP.activate(owner, secret)
    window = logged_in_page(None, committed_shop)

    page = window.open("/s/acme/admin/")
    page.get_by_label("Email").fill("kim@example.com")
    page.get_by_label("Password", exact=False).first.fill(PASSWORD)
    page.get_by_role("button", name="Log in", exact=True).click()
    page.get_by_label("Code").fill(get_totp_code(secret))
    page.get_by_role("button", name="Sign In").click()
    page.wait_for_url("**/s/acme/admin/")
    expect(page.get_by_role("heading", name="Kim")).to_be_visible()

    page.get_by_role("button", name="Kim Lee").press("Enter")
    page.get_by_role("button", name="Log out").press("Enter")
    page.wait_for_url("**/accounts/login/")

    assert window.problems == []


def test_typing_begins_where_it_is_wanted(logged_in_page: Open, committed_shop: Shop, owner: User) -> None:
    blog = make_blog()
    window = logged_in_page(owner, committed_shop)

    assert logged_in_page(None, committed_shop).open("/accounts/login/").evaluate(FOCUSED) == "login"
    assert window.go("content_blog_add").evaluate(FOCUSED) == "title"
    assert window.go("content_blog_change", blog.pk).evaluate(FOCUSED) is None


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("content_blog_add", {"title": "News", "handle": "no handle!"}),
        ("catalog_product_add", {"title": "Shirt", "variants-0-price": "abc"}),
        ("customers_customer_add", {"email": "no address"}),
        ("inventory_location_add", {"name": "Depot", "zip": "1" * 300}),
    ],
)
def test_focus_moves_to_the_first_wrong_field_after_a_refused_save(
    window: BrowserPage, name: str, typed: dict[str, str]
) -> None:
    page = window.go(name)
    # Delay Django's own script, which focuses the first field, until all other scripts have run.
    page.route("**/admin/js/change_form.js", _delay_script)
    for field, text in typed.items():
        page.locator(f"[name={field}]").evaluate("(field, text) => (field.value = text)", text)

    page.get_by_role("button", name="Save", exact=True).click()

    expect(page.locator("[aria-invalid=true]")).to_have_count(1)
    page.wait_for_load_state()
    *_right, wrong = typed
    assert page.evaluate(FOCUSED) == wrong


def _delay_script(route: Route) -> None:
    time.sleep(0.5)
    route.continue_()


def test_an_app_is_installed_by_keyboard(window: BrowserPage) -> None:
    page = window.go("shops_installation_add")
    page.get_by_label("Name").fill("Warehouse sync")
    page.get_by_role("group", name="Products, variants").get_by_label("View and edit").press("Space")
    page.get_by_role("button", name="Install app").press("Enter")
    token = page.get_by_label("Access token").input_value()
    page.get_by_role("link", name="I have copied the values").press("Enter")
    page.wait_for_url("**/change/")

    assert token.startswith("bko_")
    assert token not in page.content()
    with all_shops_scope():
        assert Installation.objects.get().scopes == ["write_products"]


def test_a_double_click_makes_one_token(window: BrowserPage, committed_shop: Shop) -> None:
    installation = factories.make_installation(committed_shop)

    page = window.go("shops_installation_change", installation.pk)
    page.get_by_role("button", name="Create token").dblclick()
    expect(page.get_by_label("Access token")).to_be_visible()
    page.wait_for_load_state("networkidle")

    wait_until(AccessToken.objects.filter(installation=installation).count, lambda rows: rows > 0)
    assert AccessToken.objects.filter(installation=installation).count() == 1


@pytest.mark.parametrize("kind", ["capture", "sale"])
def test_double_clicks_take_payments_once(window: BrowserPage, committed_shop: Shop, kind: str) -> None:
    authorization = {"kind": "authorization", "status": "success", "amount": Decimal("20.00")}
    transactions, button = ([authorization], "Capture payment") if kind == "capture" else ([], "Mark 20.00 USD as paid")
    order = make_order(committed_shop, transactions=transactions)

    page = window.go("orders_order_change", order.pk)
    page.get_by_role("button", name=button).dblclick()
    expect(page.get_by_role("button", name=button)).to_be_hidden()
    page.wait_for_load_state("networkidle")

    rows = order.transactions.filter(kind=kind)
    assert [row.amount for row in rows] == [Decimal("20.00")]


def test_double_clicks_cancel_and_refund_an_order_once(window: BrowserPage, committed_shop: Shop) -> None:
    variant = make_variant(committed_shop, stock=3)
    order = make_order(
        committed_shop,
        lines=[{"variant_id": variant.pk, "quantity": 2, "price": Decimal("5.00")}],
        inventory_behaviour="decrement_obeying_policy",
        transactions=[{"kind": "sale", "status": "success", "amount": Decimal("10.00")}],
    )

    page = window.go("orders_order_cancel", order.pk)
    page.get_by_role("button", name="Cancel order and refund 10.00 USD").dblclick()
    page.wait_for_url("**/change/")
    page.wait_for_load_state("networkidle")

    assert get_available(variant) == 3
    assert Event.objects.filter(topic="orders/cancelled").count() == 1
    assert [row.amount for row in order.transactions.filter(kind="refund")] == [Decimal("10.00")]


def test_the_button_names_the_refund_that_was_entered(window: BrowserPage, committed_shop: Shop) -> None:
    order = make_order(committed_shop, transactions=[{"kind": "sale", "status": "success", "amount": Decimal("20.00")}])
    page = window.go("orders_order_cancel", order.pk)
    amount = page.get_by_label("Refund amount (up to 20.00 USD)")

    page.get_by_label("Refund later").check()
    expect(page.get_by_role("button", name="Cancel order", exact=True)).to_be_visible()
    expect(amount).to_be_hidden()
    page.get_by_label("Refund now").check()
    amount.fill("4")
    page.get_by_role("button", name="Cancel order and refund 4 USD").click()
    expect(page.get_by_role("button", name="Edit")).to_be_visible()
    page.get_by_role("button", name="Cancel order and refund 4.00 USD").click()

    expect(page.get_by_text("was canceled and 4.00 USD was refunded.")).to_be_visible()
    assert window.problems == []


def test_a_cancellation_sent_again_happens_once(window: BrowserPage, committed_shop: Shop) -> None:
    variant = make_variant(committed_shop, stock=3)
    line = {"variant_id": variant.pk, "quantity": 2}
    order = make_order(committed_shop, lines=[line], inventory_behaviour="decrement_obeying_policy")
    page = window.go("orders_order_cancel", order.pk)
    form = page.locator("form", has=page.get_by_role("button", name="Cancel order"))
    form.get_by_role("button", name="Cancel order").click()
    page.wait_for_url("**/change/")

    page.reload()
    page.go_back()
    with page.expect_navigation():
        # Bypass the page's own form validation.
        form.evaluate("form => HTMLFormElement.prototype.submit.call(form)")

    assert get_available(variant) == 3
    assert Event.objects.filter(topic="orders/cancelled").count() == 1


def test_the_search_opens_and_leads_by_keyboard(window: BrowserPage, committed_shop: Shop) -> None:
    factories.make_installation(committed_shop, name="Larkspur sync")

    page = window.go()
    page.keyboard.press("Control+k")
    page.get_by_role("searchbox", name="Search").press_sequentially("larks")
    expect(page.get_by_role("link", name="Larkspur sync")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/shops/installation/*/change/")


def test_guide_headings_stay_in_place_while_images_load(
    logged_in_page: Open, committed_shop: Shop, owner: User
) -> None:
    window = logged_in_page(owner, committed_shop, locale="de-DE")

    page = window.go()
    page.keyboard.press("Control+k")
    page.get_by_role("searchbox", name="Suchen", exact=True).press_sequentially("merging cust")
    page.keyboard.press("Enter")
    page.wait_for_url("**/help/staff/#merging-customers")
    page.wait_for_load_state("networkidle")

    expect(page.get_by_role("heading", name="Merging customers")).to_be_in_viewport()
    assert window.problems == []


def test_the_search_switches_light_and_dark(window: BrowserPage) -> None:
    page = window.go("orders_order_changelist")
    address, html, field = page.url, page.locator("html"), page.get_by_role("searchbox", name="Search", exact=True)

    for typed, theme in (("dark", "dark"), ("light", "light")):
        page.keyboard.press("Control+k")
        expect(field).to_be_focused()
        field.press_sequentially(typed)
        page.keyboard.press("Enter")  # The response has not arrived yet.
        expect(html).to_contain_class(theme)
        expect(field).to_be_hidden()
    page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    field.press_sequentially("system theme")
    expect(page.get_by_role("link", name="Use system theme")).to_be_visible()
    page.keyboard.press("Enter")
    expect(field).to_be_hidden()
    page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    field.press_sequentially("night")
    page.get_by_role("link", name="Dark mode").click()
    expect(html).to_contain_class("dark")

    assert page.url == address
    assert page.reload()
    expect(html).to_contain_class("dark")


def test_the_filters_work_by_keyboard(window: BrowserPage) -> None:
    page = window.go("events_event_changelist")
    page.get_by_role("button", name="Filters").press("Enter")
    page.get_by_label("By when").select_option(label="Last 7 days")
    page.get_by_role("button", name="Apply filters").press("Enter")
    page.wait_for_url("**period=7**")
    expect(page.get_by_role("button", name="Apply filters")).to_be_hidden()

    page.get_by_role("button", name="Filters").press("Enter")
    expect(page.get_by_label("By when")).to_have_value("7")
    page.keyboard.press("Escape")
    expect(page.get_by_label("By when")).to_be_hidden()


def test_typed_filters_stay_when_another_is_sent(window: BrowserPage) -> None:
    page = window.go("orders_order_changelist")
    page.get_by_role("button", name="Filters").press("Enter")
    page.get_by_label("By payment").select_option(label="Paid")
    page.get_by_role("group", name="By date").get_by_label("From").fill("2026-03-02")
    page.get_by_role("textbox", name="Tag").fill("vip")
    page.get_by_role("group", name="By total").get_by_label("To").fill("9,90")
    page.keyboard.press("Enter")
    page.wait_for_url("**tag=vip**")

    chips = page.get_by_role("list", name="Active filters").get_by_role("listitem").all_inner_texts()
    assert [chip.split("\n")[0].strip() for chip in chips if "Remove" not in chip] == [
        "Payment: Paid", "Date: from 2 Mar 2026", "Total: to 9.90", "Tag: vip",
    ]  # fmt: skip
    # Unused filters are not part of the URL.
    assert not [name for name in ("channel=", "sending=", "test__exact=") if name in page.url]


def test_the_first_tab_stop_leads_to_the_content(window: BrowserPage) -> None:
    page = window.go()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.get_by_role("main")).to_be_focused()


def test_shops_are_switched_by_keyboard(window: BrowserPage, owner: User) -> None:
    other = factories.make_shop(domain="nova.example", name="Nova")
    with shop_scope(other):
        Membership.objects.create(shop=other, user=owner, account_owner=True)

    page = window.go()
    page.get_by_role("button", name="Acme").press("Enter")
    page.get_by_role("link", name="Nova").press("Enter")
    page.wait_for_url("**/s/nova/admin/")

    expect(page.get_by_role("navigation", name="Menu").get_by_text("nova.example")).to_be_visible()


def test_a_preset_chooses_its_levels(window: BrowserPage) -> None:
    page = window.go("staff_membership_add")
    page.get_by_label("First name").fill("Nia")
    page.get_by_role("button", name="Support").click()

    expect(page.get_by_label("View orders and comment on them")).to_have_value("orders")
    expect(page.get_by_label("Manage themes")).to_have_value("")
    expect(page.get_by_label("First name")).to_have_value("Nia")

    page.get_by_role("button", name="Viewer").click()

    expect(page.get_by_label("View orders and comment on them")).to_have_value("orders:view")


def test_enter_submits_the_invitation_and_no_preset(window: BrowserPage) -> None:
    page = window.go("staff_membership_add")
    page.get_by_label("Email address").fill("new@example.com")
    page.get_by_label("First name").fill("Nia")
    page.get_by_label("First name").press("Enter")

    expect(page.get_by_text("Invitation sent to new@example.com.")).to_be_visible()


def test_the_menu_opens_on_a_phone(logged_in_page: Open, committed_shop: Shop, owner: User) -> None:
    window = logged_in_page(owner, committed_shop, viewport={"width": 390, "height": 844})

    page = window.go()
    page.get_by_role("button", name="Open the menu").click()
    menu = page.get_by_role("navigation", name="Menu")
    menu.get_by_label("Pages in Settings").click()
    menu.get_by_role("link", name="Staff", exact=True).click()

    page.wait_for_url("**/staff/membership/")


def test_sections_of_the_menu_open_by_keyboard_and_stay_open(window: BrowserPage, axe: None) -> None:
    page = window.go("draft_orders_draftorder_changelist")
    menu = page.get_by_role("navigation", name="Menu")
    staff, drafts = (menu.get_by_role("link", name=name, exact=True) for name in ("Staff", "Drafts"))
    expect(drafts).to_have_attribute("aria-current", "page")
    expect(staff).to_be_hidden()
    menu.get_by_role("link", name="Settings", exact=True).focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(staff).to_be_visible()
    assert window.barriers() == []

    page.reload()
    expect(staff).to_be_visible()
    menu.get_by_label("Pages in Settings").press("Enter")
    menu.get_by_label("Pages in Orders").press("Enter")
    expect(drafts).to_be_hidden()
    page.reload()

    expect(staff).to_be_hidden()
    # The section of the current page is open at first.
    expect(drafts).to_be_visible()
    assert window.problems == []


def test_sections_of_the_menu_open_without_scripts(logged_in_page: Open, committed_shop: Shop, owner: User) -> None:
    page = logged_in_page(owner, committed_shop, java_script_enabled=False).go()
    staff = page.get_by_role("link", name="Staff", exact=True)
    expect(staff).to_be_hidden()

    page.get_by_label("Pages in Settings").click()

    expect(staff).to_be_visible()


def test_the_colours_are_chosen_once_for_all_pages(window: BrowserPage) -> None:
    page = window.open("/accounts/profile/")
    page.get_by_role("button", name="Light / dark").click()
    expect(page.locator("html")).to_have_class("dark")
    page = window.go()

    expect(page.locator("html")).to_have_class("dark")


def test_views_are_saved_by_keyboard(window: BrowserPage, axe: None) -> None:
    page = window.go("jobs_job_changelist")
    page.goto(f"{page.url}?state__exact=failed")
    page.get_by_text("Save view").press("Enter")
    expect(page.get_by_label("Name")).to_be_focused()
    violations = window.violations()
    page.keyboard.press("Escape")
    expect(page.get_by_label("Name")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Name")).to_be_focused()
    page.keyboard.type("Failures")
    page.get_by_label("Use as default view").press("Space")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    window.go("jobs_job_changelist")

    tab = page.get_by_role("navigation", name="Views").get_by_role("link", name="Failures")
    expect(tab).to_have_attribute("aria-current", "page")
    assert page.url.endswith("?state__exact=failed")
    assert violations == []


def test_columns_are_moved_by_keyboard(window: BrowserPage, axe: None) -> None:
    make_product("Hat", vendor="Acme", tags="warm")
    page = window.go("catalog_product_changelist")
    headings = page.locator("#result_list thead th:visible")
    opener = page.locator("summary", has_text="Columns")

    open_list_menu(page)
    opener.press("Enter")
    tags = page.get_by_label("Tags", exact=True)
    tags.press("Space")
    expect(tags).to_be_focused()
    page.get_by_role("button", name="Apply").press("Enter")
    page.wait_for_url("**?all=1")
    assert "Tags" in headings.last.inner_text()

    open_list_menu(page)
    opener.press("Enter")
    page.get_by_role("button", name="Move Tags up").press("Enter")
    page.wait_for_url("**#column-tagged")

    assert "Price" in headings.last.inner_text()
    expect(tags).to_be_focused()
    assert window.violations() == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert window.sideways() <= 0
