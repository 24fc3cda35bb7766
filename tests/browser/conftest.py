"""A real browser on a live server, and axe for accessibility checks."""

import os
import pathlib
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest

# The synchronous Playwright keeps an event loop running in the test's thread, which Django takes for async code.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

from playwright.sync_api import Browser, Page, sync_playwright

from apps.panel.reverse import get_panel_url
from apps.shops.models import Shop
from apps.staff.models import User
from tests import factories, parts

CHROMIUM = parts.find_chromium() or ""
AXE = pathlib.Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
# The rules that depend on colors: half of axe's work, and the only results that change with the color scheme.
COLOURS = ("color-contrast", "link-in-text-block")
# Run axe with all rules on the document; with ``colours``, run only these rules, and all rules on new elements.
LOOK = """async ([tags, colours]) => {
    const run = async (where, runOnly) => (await axe.run(where, {runOnly, resultTypes: ['violations']})).violations;
    const all = {type: 'tag', values: tags};
    const seen = [...document.querySelectorAll('*')].filter(e => e.checkVisibility());
    const since = seen.filter(e => !window.seenBefore?.has(e));
    window.seenBefore = new Set(seen);
    const found = colours.length === 0 ? await run(document, all) : [
        ...await run(document, {type: 'rule', values: colours}),
        ...since.length ? await run({include: since}, all) : [],
    ];
    return found.flatMap(v => v.nodes.map(n => v.id + ' ' + n.html.slice(0, 160)));
}"""
# By how many pixels the page is wider than the window after layout: a script may lay elements out some frames after a
# resize. A page that stays too wide takes the longest.
SIDEWAYS = """async () => {
    const root = document.documentElement;
    let wide = root.scrollWidth - root.clientWidth;
    for (let frame = 0; wide > 0 && frame < 60; frame += 1) {
        await new Promise(done => setTimeout(done, 16));
        wide = root.scrollWidth - root.clientWidth;
    }
    return wide;
}"""
# Elements that a mouse can click and a keyboard cannot reach; axe does not check this.
UNREACHABLE = """() => [...document.querySelectorAll('*')].filter(e =>
    [...e.attributes].some(a => /^(x-on:click|@click)(?!\\.outside)/.test(a.name))
    && e.checkVisibility() && e.tabIndex < 0 && e.id !== 'changelist-filter-close'
    && !e.querySelector('a[href], button, input')).map(e => e.outerHTML.slice(0, 120))"""

Look = Literal["light", "dark"]


class BrowserPage:
    """A browser page of one user in one shop that records every problem.

    Problems are console messages: exceptions, missing files, requests to other hosts.
    """

    def __init__(self, page: Page, server: str, shop: Shop) -> None:
        self.page, self.server, self.shop = page, server, shop
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda line: self.problems.append(line.text) if line.type == "error" else None)

    def go(self, name: str = "index", *args: object) -> Page:
        """Open a page of the panel; any status but 200 fails."""
        return self.open(get_panel_url(self.shop, f"admin:{name}", *args))

    def open(self, path: str) -> Page:
        response = self.page.goto(self.server + path)
        assert response is not None
        assert response.status == 200, f"{path}: {response.status}"
        return self.page

    def sideways(self) -> int:
        """Return by how many pixels the page is wider than the window."""
        width: int = self.page.evaluate(SIDEWAYS)
        return width

    def violations(self, *, recoloured: bool = False) -> list[str]:
        """Return axe's violations; if only the colors changed (``recoloured``), check colors and new elements only."""
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.evaluate(AXE.read_text())
        messages: list[str] = self.page.evaluate(LOOK, [TAGS, COLOURS if recoloured else ()])
        return messages

    def barriers(self, color_schemes: tuple[Look, ...] = ("light", "dark")) -> list[tuple[str, str]]:
        """Return axe's violations in light and dark mode, and by how many pixels the page is too wide in each.

        All modes are checked on the same page, as when a user switches them: loading takes longer than checking. The
        second
        mode runs only the color rules, and all rules on elements that did not exist before.
        """
        violations: list[tuple[str, str]] = []
        for color_scheme in color_schemes:
            self.page.emulate_media(color_scheme=color_scheme)
            self.page.evaluate(
                "dark => document.documentElement.classList.toggle('dark', dark)", color_scheme == "dark"
            )
            violations += [
                (color_scheme, problem) for problem in self.violations(recoloured=color_scheme != color_schemes[0])
            ]
            violations += [(color_scheme, f"{wide} pixels too wide")] if (wide := self.sideways()) > 0 else []
        return violations

    def unreachable(self) -> list[str]:
        """Return click targets that a keyboard cannot reach."""
        targets: list[str] = self.page.evaluate(UNREACHABLE)
        return targets


Open = Callable[..., BrowserPage]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not pathlib.Path(CHROMIUM).exists():
        pytest.skip("no Chromium; set CHROMIUM to its path")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=CHROMIUM, headless=True, args=list(parts.CHROMIUM_ARGUMENTS)
        )
        yield launched
        launched.close()


@pytest.fixture
def axe(node_packages: pathlib.Path) -> None:
    """Skip tests that need axe if axe is not installed."""


@pytest.fixture
def logged_in_page(browser: Browser, live_server: Any, client: Any, settings: Any) -> Iterator[Open]:
    """Return a function that opens a page for a user: ``open_window(user, shop, color_scheme="dark")``."""
    contexts = []

    def make(user: User | None, shop: Shop, **options: Any) -> BrowserPage:
        values = {"viewport": {"width": 1400, "height": 900}, "reduced_motion": "reduce", **options}
        context = browser.new_context(**values)
        contexts.append(context)
        if user is not None:
            client.force_login(user)
            value = client.cookies[settings.SESSION_COOKIE_NAME].value
            context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": value, "url": live_server.url}])
        return BrowserPage(context.new_page(), live_server.url, shop)

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def committed_shop(transactional_db: None) -> Shop:
    """Return a shop that the live server sees."""
    return factories.make_shop(domain="acme.example", name="Acme", timezone="America/New_York")


@pytest.fixture
def owner(committed_shop: Shop) -> User:
    """Return the shop's account owner."""
    return factories.make_member(committed_shop, owner=True, email="kim@example.com", first_name="Kim", last_name="Lee")
