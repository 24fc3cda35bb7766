"""The guide for staff, out of ``docs/``, as a page of the panel: there without the internet, with its pictures."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import override
from markdown_it import MarkdownIt
from markdown_it.token import Token

from apps.ground.languages import ENGLISH
from apps.panel.requests import Context
from apps.panel.search import also_find
from apps.panel.theme import SearchResult
from apps.panel.wishes import Wish

_FOLDER = Path(settings.BASE_DIR, "docs")
# The guide's pages; links to others lead nowhere in the panel, and are words there.
PAGES = ("staff", "imports")
_HEADING = re.compile(r"^##+ (.+)$", re.MULTILINE)
_PICTURE = re.compile(r"images/([\w-]+\.png)")


@dataclass(frozen=True, slots=True)
class Guide:
    """A page: its title, its sections (anchor and heading), and its text as HTML."""

    title: str
    sections: list[tuple[str, str]]
    html: SafeString


def help_page(request: HttpRequest, base: Context, name: str = "staff") -> TemplateResponse:
    """The page of that name; ``base`` is what every page of the panel shows."""
    if name not in PAGES:
        raise Http404
    guide = _guide(name, reverse("admin:index"))
    return TemplateResponse(request, "panel/help.html", {**base, "title": _("Help"), "guide": guide})


def help_picture(request: HttpRequest, name: str) -> FileResponse:
    """A picture of the guide; the route lets through no other name."""
    path = _FOLDER / "images" / name
    if not path.is_file():
        raise Http404
    return FileResponse(path.open("rb"), content_type="image/png", headers={"Cache-Control": "private, max-age=300"})


@also_find
def find_headings(request: HttpRequest, term: str) -> Iterator[SearchResult]:
    """Headings of the guide that a term means in English, which the guide speaks; the nearest first."""
    with override(ENGLISH):
        wish = Wish(term)
    found = [(near, *place) for place in _headings() if (near := wish.nearness(place[1], "", "")) is not None]
    for _near, name, heading in sorted(found, key=lambda each: each[0]):
        link = f"{reverse('admin:help_page', args=(name,))}#{slugify(heading)}"
        yield SearchResult(title=heading, description=_("Help"), link=link, icon="help")


@cache
def _headings() -> list[tuple[str, str]]:
    return [(name, heading) for name in PAGES for heading in _HEADING.findall(_text(name))]


def _text(name: str) -> str:
    return (_FOLDER / f"{name}.md").read_text()


@lru_cache(maxsize=64)
def _guide(name: str, root: str) -> Guide:
    """The page for one shop's panel, whose addresses begin with ``root``."""
    markdown = MarkdownIt().enable("table")
    tokens, sections, title = markdown.parse(_text(name)), [], ""
    for token, words in pairwise(tokens):
        if token.type == "heading_open" and token.tag == "h1":
            title = words.content
        elif token.type == "heading_open":
            token.attrSet("id", slugify(words.content))
            sections += [(slugify(words.content), words.content)] if token.tag == "h2" else []
    # The panel's page has its title already.
    body = tokens[3:] if title and tokens[0].tag == "h1" else tokens
    for token in body:
        for child in token.children or ():
            _lead(child, root)
    return Guide(title, sections, mark_safe(markdown.renderer.render(body, markdown.options, {})))  # noqa: S308 - ours


def _lead(token: Token, root: str) -> None:
    """Let a link or a picture lead to where its file is in the panel."""
    if token.type == "image" and (found := _PICTURE.fullmatch(str(token.attrGet("src")))):
        token.attrSet("src", f"{root}help/images/{found[1]}")
        token.attrSet("loading", "lazy")
        # Headings stay where an address led, while pictures above them come.
        for name, pixels in zip(("width", "height"), _size(found[1]), strict=True):
            token.attrSet(name, str(pixels))
    if token.type == "link_open":
        page, _mark, anchor = str(token.attrGet("href")).partition("#")
        if page.removesuffix(".md") in PAGES:
            token.attrSet("href", f"{root}help/{page.removesuffix('.md')}/{'#' if anchor else ''}{anchor}")
        elif page.endswith(".md"):
            token.attrs.pop("href")


def _size(name: str) -> tuple[int, int]:
    """Width and height of a picture in pixels, which each PNG says at its beginning."""
    head = (_FOLDER / "images" / name).read_bytes()[16:24]
    return int.from_bytes(head[:4]), int.from_bytes(head[4:])
