"""Fixtures for tests in a real browser with a live server, and for accessibility checks with axe."""

import os
import pathlib
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest

# Playwright's synchronous API keeps an event loop running in the test's thread, which Django mistakes for async code.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

from playwright.sync_api import Browser, Page, sync_playwright

from apps.panel.reverse import get_panel_url
from apps.shops.models import Shop
from apps.staff.models import User
from tests import factories, services

CHROMIUM = services.find_chromium() or ""
AXE = pathlib.Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
# Rules about colors: the only rules with results that depend on the color scheme. They take half of axe's time.
COLOURS = ("color-contrast", "link-in-text-block")
# Run axe with all rules. If ``colours`` is not empty, run only these rules on the document, and all rules on new
# elements.
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
# Return how many pixels the page is wider than the window. Scripts may lay out elements some frames after a resize, so
# wait up to 60 frames if the page is too wide.
SIDEWAYS = """async () => {
    const root = document.documentElement;
    let wide = root.scrollWidth - root.clientWidth;
    for (let frame = 0; wide > 0 && frame < 60; frame += 1) {
        await new Promise(done => setTimeout(done, 16));
        wide = root.scrollWidth - root.clientWidth;
    }
    return wide;
}"""
# Return elements that a mouse can click but the keyboard cannot reach, which axe does not check.
UNREACHABLE = """() => [...document.querySelectorAll('*')].filter(e =>
    [...e.attributes].some(a => /^(x-on:click|@click)(?!\\.outside)/.test(a.name))
    && e.checkVisibility() && e.tabIndex < 0 && e.id !== 'changelist-filter-close'
    && !e.querySelector('a[href], button, input')).map(e => e.outerHTML.slice(0, 120))"""

Look = Literal["light", "dark"]


class BrowserPage:
    """One user's browser page, which records every problem.

    Problems are console messages about exceptions, missing files and requests to other hosts.
    """

    def __init__(self, page: Page, server: str, shop: Shop) -> None:
        self.page, self.server, self.shop = page, server, shop
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda line: self.problems.append(line.text) if line.type == "error" else None)

    def go(self, name: str = "index", *args: object) -> Page:
        """Open a panel page and fail on any status other than 200."""
        return self.open(get_panel_url(self.shop, f"admin:{name}", *args))

    def open(self, path: str) -> Page:
        response = self.page.goto(self.server + path)
        assert response is not None
        assert response.status == 200, f"{path}: {response.status}"
        return self.page

    def sideways(self) -> int:
        """Return how many pixels the page is wider than the window."""
        width: int = self.page.evaluate(SIDEWAYS)
        return width

    def violations(self, *, recoloured: bool = False) -> list[str]:
        """Return axe's violations. With ``recoloured``, check only colors and new elements."""
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.evaluate(AXE.read_text())
        messages: list[str] = self.page.evaluate(LOOK, [TAGS, COLOURS if recoloured else ()])
        return messages

    def barriers(self, color_schemes: tuple[Look, ...] = ("light", "dark")) -> list[tuple[str, str]]:
        """Return axe's violations and the page's excess width in light and dark mode.

        The modes are checked on one loaded page, because loading takes longer than checking. In the second mode, only
        the color rules run, plus all rules on elements that did not exist before.
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
        """Return click targets that the keyboard cannot reach."""
        targets: list[str] = self.page.evaluate(UNREACHABLE)
        return targets


Open = Callable[..., BrowserPage]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not pathlib.Path(CHROMIUM).exists():
        pytest.skip("no Chromium; set CHROMIUM to its path")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=CHROMIUM, headless=True, args=list(services.CHROMIUM_ARGUMENTS)
        )
        yield launched
        launched.close()


@pytest.fixture
def axe(node_packages: pathlib.Path) -> None:
    """Skip tests that need axe if axe is not installed."""


@pytest.fixture
def logged_in_page(browser: Browser, live_server: Any, client: Any, settings: Any) -> Iterator[Open]:
    """Return a function that opens a page for a user: ``logged_in_page(user, shop, color_scheme="dark")``."""
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
    """Return a committed shop, which the live server can read."""
    return factories.make_shop(domain="acme.example", name="Acme", timezone="America/New_York")


@pytest.fixture
def owner(committed_shop: Shop) -> User:
    """Return the shop's account owner."""
    return factories.make_member(committed_shop, owner=True, email="kim@example.com", first_name="Kim", last_name="Lee")
