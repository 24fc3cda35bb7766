"""Measure first visits to the panel on a slow line: ``python -m benchmarks.page_loads URL EMAIL PASSWORD``.

The URL is that of a running installation with data, for example of ``make run``. Chromium opens ten pages, each with an
empty cache and the line of a weak mobile connection: 1.6 Mbit/s, and 300 ms from a request to its response.
"""

import argparse
from collections.abc import Container, Iterator
from typing import Any, NamedTuple
from urllib.parse import urljoin

from playwright.sync_api import Browser, Page, sync_playwright

LINE = {"offline": False, "latency": 300, "downloadThroughput": 1_600_000 / 8, "uploadThroughput": 750_000 / 8}
LISTS = {
    "orders": "orders/order/",
    "products": "catalog/product/",
    "customers": "customers/customer/",
    "articles": "content/article/",
    "fulfillments": "fulfillment/fulfillmentorder/",
}
PAGES = ("home", *LISTS, "order", "product", "customer", "article")
_RECORD = """
window.recorded = {shift: 0, first: 0, largest: 0, loaded: 0};
const record = (type, note) => new PerformanceObserver((list) => list.getEntries().forEach(note))
  .observe({type, buffered: true});
record('layout-shift', (entry) => { if (!entry.hadRecentInput) window.recorded.shift += entry.value; });
addEventListener('load', () => { window.recorded.loaded = performance.now(); });
record('paint', (entry) => { window.recorded.first = entry.startTime; });
record('largest-contentful-paint', (entry) => { window.recorded.largest = entry.startTime; });
"""


class PageLoad(NamedTuple):
    """The first visit to a page. Times are in milliseconds; requests include the page and its images."""

    name: str
    requests: int
    images: int
    bytes: int
    shift: float
    first_paint: float
    largest_paint: float
    loaded: float


def log_in(page: Page, url: str, email: str, password: str) -> str:
    """Log in and return the URL of the shop's home page."""
    page.goto(f"{url}/accounts/login/")
    page.locator("input[name=login]").fill(email)
    page.locator("input[name=password]").fill(password)
    page.locator("input[name=password]").press("Enter")
    page.wait_for_url("**/s/*/admin/")
    return page.url


def measure_pages(browser: Browser, user: Page, home: str, only: Container[str] = PAGES) -> Iterator[PageLoad]:
    """Measure the home page, lists and the first object of each list for the logged-in user."""
    if "home" in only:
        yield measure_page(browser, user, "home", home)
    for name, path in LISTS.items():
        if name in only:
            yield measure_page(browser, user, name, urljoin(home, path))
        if (row := name.removesuffix("s")) in only:
            user.goto(urljoin(home, path))
            first = user.locator("#result_list tbody a.bo-to").first.get_attribute("href") or ""
            yield measure_page(browser, user, row, urljoin(user.url, first))
    user.goto(home)


def measure_page(browser: Browser, user: Page, name: str, url: str) -> PageLoad:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.add_cookies(user.context.cookies())  # type: ignore[arg-type]
    context.add_init_script(_RECORD)
    page = context.new_page()
    kinds: list[str] = []
    sizes: list[float] = []
    developer = context.new_cdp_session(page)
    developer.send("Network.enable")
    developer.send("Network.emulateNetworkConditions", LINE)
    developer.on("Network.requestWillBeSent", lambda event: kinds.extend([event["type"]] * _is_sent(event)))
    developer.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.goto(url, wait_until="networkidle")
    recorded = page.evaluate("window.recorded")
    context.close()
    times = recorded["first"], recorded["largest"], recorded["loaded"]
    return PageLoad(name, len(kinds), kinds.count("Image"), int(sum(sizes)), recorded["shift"], *times)


def _is_sent(event: dict[str, Any]) -> bool:
    """Return False for data URLs, which browsers read without a request."""
    return not event["request"]["url"].startswith("data:")


def print_loads(loads: list[PageLoad]) -> None:
    print(f"{'page':12} {'requests':>8} {'images':>6} {'KB':>6} {'shift':>6} {'first paint':>11} {'largest paint':>13}")
    for load in loads:
        print(
            f"{load.name:12} {load.requests:8} {load.images:6} {load.bytes / 1000:6.0f} {load.shift:6.3f}"
            f" {load.first_paint / 1000:9.2f} s {load.largest_paint / 1000:11.2f} s"
        )


def main() -> None:
    from tests.support.services import CHROMIUM_ARGUMENTS, find_chromium

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("email")
    parser.add_argument("password")
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(CHROMIUM_ARGUMENTS))
        user = browser.new_page()
        home = log_in(user, options.url.rstrip("/"), options.email, options.password)
        print_loads(list(measure_pages(browser, user, home)))
        browser.close()


if __name__ == "__main__":
    main()
