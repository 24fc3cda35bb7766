"""A real browser on a live server, and axe to look for what keeps people out."""

import os
import pathlib
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest

# The synchronous Playwright keeps an event loop running in the test's thread, which Django would take for async code.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

from playwright.sync_api import Browser, Page, sync_playwright

from apps.panel.reverse import get_panel_url
from apps.shops.models import Shop
from apps.staff.models import User
from tests import factories, parts

CHROMIUM = parts.chromium() or ""
AXE = pathlib.Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
# The rules that go by colours. They are half of axe's work, and the only ones that a look of the same elements changes.
COLOURS = ("color-contrast", "link-in-text-block")
# What axe finds: by all rules in the document or, with ``colours``, by these there and by all in what is seen since.
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
# How much the page is wider than the window once it has come to rest: a script may lay things out after a resize, some
# frames later. A page that stays too wide is waited for the longest.
SIDEWAYS = """async () => {
    const root = document.documentElement;
    let wide = root.scrollWidth - root.clientWidth;
    for (let frame = 0; wide > 0 && frame < 60; frame += 1) {
        await new Promise(done => setTimeout(done, 16));
        wide = root.scrollWidth - root.clientWidth;
    }
    return wide;
}"""
# Whatever a mouse can click and a keyboard cannot reach; axe does not see this.
UNREACHABLE = """() => [...document.querySelectorAll('*')].filter(e =>
    [...e.attributes].some(a => /^(x-on:click|@click)(?!\\.outside)/.test(a.name))
    && e.checkVisibility() && e.tabIndex < 0 && e.id !== 'changelist-filter-close'
    && !e.querySelector('a[href], button, input')).map(e => e.outerHTML.slice(0, 120))"""

Look = Literal["light", "dark"]


class Window:
    """One person's browser in one shop, which keeps note of everything that goes wrong in it.

    That is what its console tells: exceptions, files that are not there, requests to other hosts.
    """

    def __init__(self, page: Page, server: str, shop: Shop) -> None:
        self.page, self.server, self.shop = page, server, shop
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda line: self.problems.append(line.text) if line.type == "error" else None)

    def go(self, name: str = "index", *args: object) -> Page:
        """Open a page of the panel; anything but 200 fails."""
        return self.open(get_panel_url(self.shop, f"admin:{name}", *args))

    def open(self, path: str) -> Page:
        response = self.page.goto(self.server + path)
        assert response is not None
        assert response.status == 200, f"{path}: {response.status}"
        return self.page

    def sideways(self) -> int:
        """How many pixels the page is wider than the window."""
        width: int = self.page.evaluate(SIDEWAYS)
        return width

    def violations(self, *, recoloured: bool = False) -> list[str]:
        """What axe finds; of a page that is ``recoloured`` since, in its colours and in what was not seen before."""
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.evaluate(AXE.read_text())
        found: list[str] = self.page.evaluate(LOOK, [TAGS, COLOURS if recoloured else ()])
        return found

    def barriers(self, looks: tuple[Look, ...] = ("light", "dark")) -> list[tuple[str, str]]:
        """What axe finds in light and in dark, each with its look, and how much the page is too wide in it.

        Both looks are taken of one page, as when a person switches them: loading it takes longer than looking. The
        second one is looked at by the rules of colours alone, but for what was not seen in the first.
        """
        found: list[tuple[str, str]] = []
        for look in looks:
            self.page.emulate_media(color_scheme=look)
            self.page.evaluate("dark => document.documentElement.classList.toggle('dark', dark)", look == "dark")
            found += [(look, problem) for problem in self.violations(recoloured=look != looks[0])]
            found += [(look, f"{wide} pixels too wide")] if (wide := self.sideways()) > 0 else []
        return found

    def unreachable(self) -> list[str]:
        """Click targets that a keyboard cannot reach."""
        found: list[str] = self.page.evaluate(UNREACHABLE)
        return found


Open = Callable[..., Window]


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
    """Skip tests that look with axe where axe is not installed."""


@pytest.fixture
def open_window(browser: Browser, live_server: Any, client: Any, settings: Any) -> Iterator[Open]:
    """``open_window(user, shop, color_scheme="dark")``: a window with the user logged in, or nobody."""
    contexts = []

    def make(user: User | None, shop: Shop, **options: Any) -> Window:
        values = {"viewport": {"width": 1400, "height": 900}, "reduced_motion": "reduce", **options}
        context = browser.new_context(**values)
        contexts.append(context)
        if user is not None:
            client.force_login(user)
            value = client.cookies[settings.SESSION_COOKIE_NAME].value
            context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": value, "url": live_server.url}])
        return Window(context.new_page(), live_server.url, shop)

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def live_shop(transactional_db: None) -> Shop:
    """A shop that the live server sees."""
    return factories.make_shop(domain="acme.example", name="Acme", timezone="America/New_York")


@pytest.fixture
def owner(live_shop: Shop) -> User:
    """Its account owner."""
    return factories.make_member(live_shop, owner=True, email="kim@example.com", first_name="Kim", last_name="Lee")
