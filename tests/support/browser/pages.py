import pathlib
from collections.abc import Callable
from typing import Literal

from playwright.sync_api import Page

from apps.core.admin.reverse import get_panel_url
from apps.core.tenancy.models import Shop

AXE = pathlib.Path(__file__).parents[3] / "node_modules" / "axe-core" / "axe.min.js"
TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
# Rules about colors: the only rules with results that depend on the color scheme. They take half of axe's time.
COLOURS = ("color-contrast", "link-in-text-block")
# Run axe with all rules. If ``colours`` is not empty, run only these rules on the document, and all rules on new
# elements. Bars with buttons are not sticky while axe runs, because users can scroll the targets below them into view.
LOOK = """async ([tags, colours]) => {
    const run = async (where, runOnly) => (await axe.run(where, {runOnly, resultTypes: ['violations']})).violations;
    const all = {type: 'tag', values: tags};
    const bars = document.querySelectorAll('.bo-actions-bar, .bo-selection, #submit-row, #submit-row [name=_save]');
    bars.forEach(bar => bar.style.setProperty('position', 'static'));
    const seen = [...document.querySelectorAll('*')].filter(e => e.checkVisibility());
    const since = seen.filter(e => !window.seenBefore?.has(e));
    window.seenBefore = new Set(seen);
    const found = await run(document, colours.length === 0 ? all : {type: 'rule', values: colours});
    // Scripts may have replaced elements in the meantime.
    const added = colours.length === 0 ? [] : since.filter(e => e.isConnected);
    if (added.length) found.push(...await run({include: added}, all));
    bars.forEach(bar => bar.style.removeProperty('position'));
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
# Return the tables that are wider than the section that clips them.
CLIPPED = """() => [...document.querySelectorAll('#content table')].filter(table => {
    if (!table.checkVisibility()) return false;
    const clips = e => ['hidden', 'clip'].includes(getComputedStyle(e).overflowX);
    let box = table.parentElement;
    while (box && !clips(box) && getComputedStyle(box).overflowX === 'visible') box = box.parentElement;
    return box && clips(box) && table.getBoundingClientRect().right > box.getBoundingClientRect().right + 1;
}).map(table => 'clipped table: ' + table.textContent.trim().replaceAll(/\\s+/g, ' ').slice(0, 80))"""
# Return labels, buttons and headings that are cut off. The page header shortens its breadcrumbs on purpose.
CUT = """() => [...document.querySelectorAll('#content :is(label, legend, button, a, h1, h2, h3, dt, p)')]
    .filter(e => e.checkVisibility() && !e.closest('.bo-hidden, .cm-editor, thead'))
    .filter(e => {
        const look = getComputedStyle(e);
        const box = e.getBoundingClientRect();
        const cut = look.overflowX !== 'visible' && look.overflowX !== 'auto' && e.scrollWidth > e.clientWidth + 1;
        return box.width > 1 && (cut || box.right > innerWidth + 1);
    })
    .map(e => `${e.tagName}: ${e.textContent.trim().slice(0, 60)}`)"""
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
        return self.open(get_panel_url(self.shop, f"admin:{name}", *args))

    def open(self, path: str) -> Page:
        response = self.page.goto(self.server + path)
        assert response is not None
        assert response.status == 200, f"{path}: {response.status}"
        return self.page

    def sideways(self) -> int:
        """Return how many pixels the page is wider than the window."""
        return self.page.evaluate(SIDEWAYS)

    def cut_texts(self) -> list[str]:
        """Return labels, buttons and headings that are cut off."""
        return self.page.evaluate(CUT)

    def violations(self, *, recoloured: bool = False) -> list[str]:
        """Return axe's violations. With ``recoloured``, check only colors and new elements."""
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.evaluate(AXE.read_text())
        return self.page.evaluate(LOOK, [TAGS, COLOURS if recoloured else ()])

    def barriers(self, color_schemes: tuple[Look, ...] = ("light", "dark")) -> list[tuple[str, str]]:
        """Return axe's violations, the page's excess width and clipped tables in light and dark mode.

        The modes are checked on one loaded page, because loading takes longer than checking. In the second mode, only
        the color rules run, plus all rules on elements that did not exist before.
        """
        violations: list[tuple[str, str]] = []
        for color_scheme in color_schemes:
            self.page.emulate_media(color_scheme=color_scheme)
            toggle = "dark => document.documentElement.classList.toggle('dark', dark)"
            self.page.evaluate(toggle, color_scheme == "dark")
            problems = self.violations(recoloured=color_scheme != color_schemes[0])
            violations += [(color_scheme, problem) for problem in problems]
            violations += [(color_scheme, f"{wide} pixels too wide")] if (wide := self.sideways()) > 0 else []
            violations += [(color_scheme, table) for table in self.page.evaluate(CLIPPED)]
        return violations

    def unreachable(self) -> list[str]:
        """Return click targets that the keyboard cannot reach."""
        return self.page.evaluate(UNREACHABLE)


Open = Callable[..., BrowserPage]
