import json
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Page, expect

from tests.support.browser.list_menu import open_list_menu

CUSTOMERS = b"""email,first_name,last_name,phone,tags,accepts_email_marketing
mia.keller@example.com,Mia,Keller,+49 30 901820,"newsletter, wholesale",yes
jonas.petit@example.com,Jonas,Petit,+33 1 42 68 53 00,wholesale,yes
nobody at example.com,No,Address,,,no
ines.costa@example.com,Ines,Costa,+351 21 030 0000,,no
"""


@dataclass(frozen=True, slots=True)
class DemoShop:
    address: str
    token: str
    email: str
    password: str

    def panel(self, path: str = "") -> str:
        return f"{self.address}/s/demo-store/admin/{path}"

    def call(self, path: str, body: object) -> None:
        request = urllib.request.Request(
            f"{self.address}/admin/api/2026-10/{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "X-Platform-Access-Token": self.token},
        )
        with urllib.request.urlopen(request, timeout=60):
            pass


@dataclass(frozen=True, slots=True)
class Scene:
    """The steps that lead to a screenshot, and the browser's window size, color scheme and language."""

    show: Callable[[Page, DemoShop], object]
    width: int = 1280
    height: int = 800
    dark: bool = False
    language: str = "en-US"


def open_path(path: str) -> Callable[[Page, DemoShop], object]:
    return lambda page, store: page.goto(store.panel(path))


def open_order(page: Page, store: DemoShop, name: str) -> None:
    page.goto(store.panel(f"orders/order/?q=%23{name}"))
    page.get_by_role("link", name=f"#{name}", exact=True).click()
    expect(page.get_by_role("heading", name=f"Order #{name}", level=1)).to_be_visible()


def open_product(page: Page, store: DemoShop) -> None:
    page.goto(store.panel("catalog/product/?q=Work+shirt"))
    page.get_by_role("link", name="Work shirt", exact=True).last.click()
    expect(page.get_by_label("Name of option 1")).to_be_visible()
    page.get_by_label("Name of option 1").evaluate("field => field.scrollIntoView({block: 'start'})")
    page.mouse.wheel(0, -120)


def preview_bulk_edit(page: Page, store: DemoShop) -> None:
    page.goto(store.panel("catalog/variant/?q=MU-00"))
    open_list_menu(page)
    page.get_by_role("button", name="Edit all").click()
    page.get_by_label("Price: value", exact=True).fill("-10")
    page.get_by_label("Price: rounding", exact=True).select_option(label="up to .95")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("heading", name="Preview of the first").scroll_into_view_if_needed()
    page.get_by_role("heading", name="Preview of the first").evaluate("head => head.scrollIntoView({block: 'center'})")


def check_import(page: Page, store: DemoShop) -> None:
    page.goto(store.panel("imports_exports/import/upload/"))
    page.locator("input[type=file]").set_input_files(
        {"name": "customers.csv", "mimeType": "text/csv", "buffer": CUSTOMERS}
    )
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("mia.keller@example.com").first).to_be_visible()


def preview_order_edit(page: Page, store: DemoShop) -> None:
    open_order(page, store, "1314")
    page.get_by_role("link", name="Edit items…").click()
    page.get_by_role("spinbutton").first.fill("3")
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_role("heading", name="Changes")).to_be_visible()


def preview_refund(page: Page, store: DemoShop) -> None:
    open_order(page, store, "1309")
    page.get_by_role("link", name="Refund…").click()
    page.get_by_role("link", name="Select everything").click()
    expect(page.get_by_text("0.00 USD", exact=True).first).to_be_visible()


def open_theme_file(page: Page, store: DemoShop) -> None:
    page.goto(store.panel("content/theme/"))
    page.get_by_role("link", name="Code").first.click()
    page.get_by_role("link", name="sections/header.liquid").click()
    expect(page.locator(".cm-content")).to_be_visible()


def open_webhooks(page: Page, store: DemoShop) -> None:
    for topic in ("orders/create", "products/update", "customers/delete"):
        address = f"https://warehouse.example.com/hooks/{topic.replace('/', '-')}"
        store.call("webhooks.json", {"webhook": {"topic": topic, "address": address, "format": "json"}})
    page.goto(store.panel("webhooks/subscription/"))


def open_palette(page: Page, store: DemoShop) -> None:
    page.goto(store.panel())
    page.keyboard.press("Control+k")
    page.get_by_role("searchbox", name="Search").press_sequentially("luisa")
    expect(page.locator(".bo-found a").first).to_be_visible()


def open_filters(page: Page, store: DemoShop) -> None:
    page.goto(store.panel("orders/order/?channel=web"))
    page.get_by_role("button", name="Filters").click()
    expect(page.get_by_role("dialog", name="Filters")).to_be_visible()


SCENES = {
    "home": Scene(open_path("")),
    "search": Scene(open_palette),
    "filters": Scene(open_filters),
    "product": Scene(open_product, height=900),
    "bulk": Scene(preview_bulk_edit, height=860),
    "import": Scene(check_import, height=860),
    "stock": Scene(open_path("inventory/inventoryitem/")),
    "order": Scene(lambda page, store: open_order(page, store, "1307"), height=900),
    "lines": Scene(preview_order_edit),
    "refund": Scene(preview_refund, height=900),
    "to-send": Scene(open_path("fulfillment/fulfillmentorder/")),
    "theme": Scene(open_theme_file),
    "webhooks": Scene(open_webhooks, height=640),
    "phone": Scene(open_path("orders/order/"), width=390, height=844),
    "dark": Scene(open_path("catalog/product/"), dark=True),
    "german": Scene(open_path("customers/customer/"), language="de-DE"),
}
